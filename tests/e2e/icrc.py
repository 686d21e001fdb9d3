#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the ICRC of every RoCEv2 packet in a capture, with zlib's CRC-32 and nothing of adverb's.

IBTA annex A17: the CRC covers eight bytes of ones, the IP and UDP headers with the fields that routers change masked to
ones, the BTH with its reserved byte masked, and the rest up to the ICRC, which is sent least significant byte first.
"""
import struct
import sys
import zlib


def frames(path):
    data = open(path, "rb").read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        captured, = struct.unpack_from(order + "I", data, at + 8)
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def icrc(ip, udp):
    length, = struct.unpack_from(">H", udp, 4)
    udp = bytearray(udp[:length])
    ip = bytearray(ip)
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = 0xff
        ip[10:12] = b"\xff\xff"
    else:
        ip[0:4] = bytes([ip[0] | 0x0f, 0xff, 0xff, 0xff])
        ip[7] = 0xff
    udp[6:8] = b"\xff\xff"
    udp[12] = 0xff  # BTH byte 4: FECN, BECN, reserved
    crc = zlib.crc32(b"\xff" * 8 + bytes(ip) + bytes(udp[:-4])) & 0xffffffff
    return struct.pack("<I", crc), bytes(udp[-4:])


def main():
    good = bad = 0
    for number, frame in enumerate(frames(sys.argv[1]), 1):
        kind, = struct.unpack_from(">H", frame, 12)
        ip_length = {0x0800: (frame[14] & 15) * 4, 0x86dd: 40}.get(kind)
        if ip_length is None:
            continue
        ip, udp = frame[14:14 + ip_length], frame[14 + ip_length:]
        if struct.unpack_from(">H", udp, 2)[0] != 4791:
            continue
        expected, found = icrc(ip, udp)
        if expected == found:
            good += 1
        else:
            bad += 1
            print(f"frame {number}: ICRC {found.hex()}, should be {expected.hex()}")
    print(f"{good} ICRCs equal an independent computation, {bad} do not")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
