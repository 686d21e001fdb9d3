/* SPDX-License-Identifier: Apache-2.0 */
/* states.c - the table of transitions */
#include "rvt/states.h"

#define RC (1u << RVT_QPT_RC)
#define UC (1u << RVT_QPT_UC)
#define UD (1u << RVT_QPT_UD)
#define XI (1u << RVT_QPT_XRC_INI)
#define XT (1u << RVT_QPT_XRC_TGT)

#define CUR RVT_QP_CUR_STATE
#define SDN RVT_QP_EN_SQD_ASYNC_NOTIFY
#define AF  RVT_QP_ACCESS_FLAGS
#define PKI RVT_QP_PKEY_INDEX
#define PRT RVT_QP_PORT
#define QK  RVT_QP_QKEY
#define AV  RVT_QP_AV
#define MTU RVT_QP_PATH_MTU
#define TMO RVT_QP_TIMEOUT
#define RTY RVT_QP_RETRY_CNT
#define RNR RVT_QP_RNR_RETRY
#define RPS RVT_QP_RQ_PSN
#define MQR RVT_QP_MAX_QP_RD_ATOMIC
#define ALT RVT_QP_ALT_PATH
#define MNR RVT_QP_MIN_RNR_TIMER
#define SPS RVT_QP_SQ_PSN
#define MDR RVT_QP_MAX_DEST_RD_ATOMIC
#define MIG RVT_QP_PATH_MIG_STATE
#define DQP RVT_QP_DEST_QPN

struct row {
	uint8_t from, to;
	uint16_t types;
	uint32_t required, optional;
};

#define ROW(from, to, types, required, optional)          \
 {                                                        \
  RVT_QPS_##from, RVT_QPS_##to, types, required, optional \
 }

static const struct row rows[] = {
	ROW(RESET, INIT, RC | UC | XI | XT, PKI | PRT | AF, 0),
	ROW(RESET, INIT, UD, PKI | PRT | QK, 0),
	ROW(INIT, INIT, RC | UC | XI | XT, 0, PKI | PRT | AF),
	ROW(INIT, INIT, UD, 0, PKI | PRT | QK),
	ROW(INIT, RTR, RC | XT, AV | MTU | DQP | RPS | MDR | MNR, ALT | AF | PKI),
	ROW(INIT, RTR, UC | XI, AV | MTU | DQP | RPS, ALT | AF | PKI),
	ROW(INIT, RTR, UD, 0, PKI | QK),
	ROW(RTR, RTS, XI, TMO | RTY | RNR | SPS | MQR, CUR | ALT | AF | MIG),
	ROW(RTR, RTS, XT, TMO | SPS, CUR | ALT | AF | MNR | MIG),
	ROW(RTR, RTS, RC, TMO | RTY | RNR | SPS | MQR, CUR | ALT | AF | MNR | MIG),
	ROW(RTR, RTS, UC, SPS, CUR | ALT | AF | MIG),
	ROW(RTR, RTS, UD, SPS, CUR | QK),
	ROW(RTS, RTS, RC | XT, 0, CUR | AF | ALT | MIG | MNR),
	ROW(RTS, RTS, UC | XI, 0, CUR | AF | ALT | MIG),
	ROW(RTS, RTS, UD, 0, CUR | QK),
	ROW(RTS, SQD, RC | UC | UD | XI | XT, 0, SDN),
	ROW(SQD, SQD, RC, 0, PRT | AV | TMO | RTY | RNR | MQR | MDR | ALT | AF | PKI | MNR | MIG),
	ROW(SQD, SQD, XI, 0, PRT | AV | TMO | RTY | RNR | MQR | ALT | AF | PKI | MIG),
	ROW(SQD, SQD, XT, 0, PRT | AV | TMO | MDR | ALT | AF | PKI | MNR | MIG),
	ROW(SQD, SQD, UC, 0, AV | ALT | AF | PKI | MIG),
	ROW(SQD, SQD, UD, 0, PKI | QK),
	ROW(SQD, RTS, RC | XT, 0, CUR | ALT | AF | MNR | MIG),
	ROW(SQD, RTS, UC | XI, 0, CUR | ALT | AF | MIG),
	ROW(SQD, RTS, UD, 0, CUR | QK),
	ROW(SQE, RTS, UD, 0, CUR | QK),
	ROW(SQE, RTS, UC, 0, CUR | AF),
	ROW(SQE, RTS, RC | XI | XT, 0, 0),
};

bool rvt_transition(enum rvt_qp_type type, enum rvt_qp_state from, enum rvt_qp_state to,
		    uint32_t *required, uint32_t *optional)
{
	*required = *optional = 0;
	if (to == RVT_QPS_RESET)
		return true;
	if (to == RVT_QPS_ERR)
		return from != RVT_QPS_RESET;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].from == from && rows[i].to == to && rows[i].types & 1u << type) {
			*required = rows[i].required;
			*optional = rows[i].optional;
			return true;
		}
	}
	return false;
}
