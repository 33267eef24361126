"""Weft and scapy's RoCE layer read each other's frames. Usage: against_scapy.py FRAMES (built from frames.cc)

scapy knows BTH, CNP, the AETH of an ACK and the ICRC, all over IPv4; the other extension headers are described here in
scapy's terms, from the specification's tables, and those of the srnic dialect from wire/srnic.h.
"""

import ipaddress
import json
import random
import subprocess
import sys

try:
    from scapy.contrib.roce import AETH, BTH, CNPPadding, _bth_opcodes
    from scapy.fields import BitField, IntField, LongField, XIntField
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.packet import Packet, Raw
except ImportError as error:
    sys.exit(f"scapy is not installed for {sys.executable}: run scripts/bootstrap ({error})")


class RETH(Packet):
    fields_desc = [LongField("va", 0), XIntField("key", 0), IntField("length", 0)]


class AtomicETH(Packet):
    fields_desc = [LongField("va", 0), XIntField("key", 0), LongField("swap", 0), LongField("compare", 0)]


class AtomicAckETH(Packet):
    fields_desc = [LongField("value", 0)]


class DETH(Packet):
    fields_desc = [XIntField("qkey", 0), BitField("reserved", 0, 8), BitField("qpn", 0, 24)]


class ImmDt(Packet):
    fields_desc = [XIntField("value", 0)]


class IETH(Packet):
    fields_desc = [XIntField("key", 0)]


class Sequence(Packet):
    fields_desc = [BitField("msn", 0, 20), BitField("ssn", 0, 20), BitField("offset", 0, 24)]


class Target(Packet):
    fields_desc = [LongField("va", 0), XIntField("key", 0)]


class SrnicAck(Packet):
    fields_desc = [BitField("syndrome", 0, 8), BitField("expected", 0, 24), BitField("run", 0, 16),
                   BitField("duplicates", 0, 4), BitField("marked", 0, 12)]


# Weft's names of the fields.
NAMES = {
    RETH: {"va": "reth.va", "key": "reth.key", "length": "reth.length"},
    AtomicETH: {"va": "atomic.va", "key": "atomic.key", "swap": "atomic.swap", "compare": "atomic.compare"},
    AtomicAckETH: {"value": "atomicack.original"},
    AETH: {"syndrome": "aeth.syndrome", "msn": "aeth.msn"},
    DETH: {"qkey": "deth.qkey", "qpn": "deth.qpn"},
    ImmDt: {"value": "imm"},
    IETH: {"key": "ieth.key"},
    CNPPadding: {},
    Sequence: {"msn": "sequence.msn", "ssn": "sequence.ssn", "offset": "sequence.offset"},
    Target: {"va": "target.va", "key": "target.key"},
    SrnicAck: {"syndrome": "ack.syndrome", "expected": "ack.expected", "run": "ack.run",
              "duplicates": "ack.duplicates", "marked": "ack.marked"},
}
BTH_NAMES = {
    "opcode": "bth.opcode", "solicited": "bth.solicited", "migreq": "bth.migrated", "padcount": "bth.pad",
    "version": "bth.version", "pkey": "bth.pkey", "fecn": "bth.fecn", "becn": "bth.becn", "dqpn": "bth.qpn",
    "ackreq": "bth.ack", "psn": "bth.psn",
}
# scapy 2.5 has no names for SEND with invalidate.
OPCODES = {code: name for code, name in _bth_opcodes.items() if not name.startswith("RD_")} | {
    0x16: "RC_SEND_LAST_WITH_INVALIDATE", 0x17: "RC_SEND_ONLY_WITH_INVALIDATE"}
# Calls of kernels and their answers have the headers of WRITEs.
CALLS = ["RPC_AS_RDMA_WRITE_ONLY", "RPC_RDMA_WRITE_FIRST", "RPC_RDMA_WRITE_MIDDLE", "RPC_RDMA_WRITE_LAST",
         "RPC_RDMA_WRITE_ONLY", "REPLY_AS_RDMA_WRITE_ONLY", "REPLY_AS_RDMA_WRITE_ONLY_WITH_IMMEDIATE"]
# The srnic dialect: each is its RC opcode + 0xC0, and five more.
OPCODES |= {0xC0 + code: "SRNIC" + name[2:] for code, name in OPCODES.items() if name.startswith("RC_")}
OPCODES |= {0x18 + i: f"RC_{name}" for i, name in enumerate(CALLS)}
OPCODES |= {0xF8 + i: f"SRNIC_{name}" for i, name in enumerate(CALLS)}
OPCODES |= {0xD8: "SRNIC_PROBE", 0xD9: "SRNIC_RESPONSE_PROBE"}
OPCODES |= {0xDE: "SRNIC_RESPONSE_ACKNOWLEDGE", 0xE4: "SRNIC_SEND_ONLY_ACK", 0xEA: "SRNIC_RDMA_WRITE_ONLY_ACK"}


def srnic_extensions(name):
    """The same for the srnic dialect: a Sequence in all, a target in every WRITE, an ACK in acknowledgements,
    and in requests that say so."""
    found = [Sequence]
    if "RDMA_WRITE" in name:
        found.append(Target)
    if "READ_REQUEST" in name:
        found.append(RETH)
    if name.endswith(("COMPARE_SWAP", "FETCH_ADD")):
        found.append(AtomicETH)
    if "ACKNOWLEDGE" in name or name.endswith("_ONLY_ACK"):
        found.append(AtomicAckETH if "ATOMIC" in name else SrnicAck)
    if "WITH_IMMEDIATE" in name:
        found.append(ImmDt)
    if "WITH_INVALIDATE" in name:
        found.append(IETH)
    return found


def extensions(name):
    """Which headers follow the BTH, from the opcode's name."""
    if name == "CNP":
        return [CNPPadding]
    if name.startswith("SRNIC"):
        return srnic_extensions(name)
    found = [DETH] if name.startswith("UD_") else []
    if "RDMA_WRITE_FIRST" in name or "RDMA_WRITE_ONLY" in name or "READ_REQUEST" in name:
        found.append(RETH)
    if name.endswith(("COMPARE_SWAP", "FETCH_ADD")):
        found.append(AtomicETH)
    if "ACKNOWLEDGE" in name or ("READ_RESPONSE" in name and "MIDDLE" not in name):
        found.append(AETH)
    if "ATOMIC_ACKNOWLEDGE" in name:
        found.append(AtomicAckETH)
    if "WITH_IMMEDIATE" in name:
        found.append(ImmDt)
    if "WITH_INVALIDATE" in name:
        found.append(IETH)
    return found


def carries_payload(name):
    return "SEND" in name or "WRITE" in name or "READ_RESPONSE" in name


def mapped(address):
    return (b"\0" * 10 + b"\xff\xff" + ipaddress.IPv4Address(address).packed).hex()


def draw(layer, chance):
    """A header with every field drawn."""
    fields = {f.name: chance.getrandbits(int(f.sz * 8)) for f in layer.fields_desc if f.name in NAMES[layer]}
    return layer(**fields)


def scapy_frame(code, name, chance):
    """A frame as scapy builds it, and what Weft must say of it."""
    payload = chance.randbytes(chance.choice([0, 1, 2, 3, 4, 63, 64, 256, 1021])) if carries_payload(name) else b""
    ip = IP(src=f"10.{chance.randrange(256)}.0.1", dst="192.168.7.9", tos=chance.getrandbits(8),
            ttl=chance.randrange(1, 256), id=chance.getrandbits(16), flags=chance.choice(["DF", 0]))
    udp = UDP(sport=chance.getrandbits(16), dport=4791)
    if chance.random() < 0.5:
        udp.chksum = 0  # otherwise scapy's own: RoCEv2 does not look at it
    bth = BTH(opcode=code, solicited=chance.getrandbits(1), migreq=chance.getrandbits(1), padcount=-len(payload) % 4,
              pkey=chance.getrandbits(16), fecn=chance.getrandbits(1), becn=chance.getrandbits(1),
              dqpn=chance.getrandbits(24), ackreq=chance.getrandbits(1), psn=chance.getrandbits(24))
    expected = {ours: getattr(bth, theirs) for theirs, ours in BTH_NAMES.items()}
    expected |= {"ip.src": mapped(ip.src), "ip.dst": mapped(ip.dst), "ip.tc": ip.tos, "ip.hops": ip.ttl, "ip.label": 0,
                 "udp.sport": udp.sport, "payload": payload.hex(), "refusal": ""}
    packet = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / ip / udp / bth
    for layer in extensions(name):
        header = draw(layer, chance)
        expected |= {ours: getattr(header, theirs) for theirs, ours in NAMES[layer].items()}
        packet /= header
    return bytes(packet / Raw(payload + bytes(-len(payload) % 4))), expected


def weft_reads_scapy(frames, chance):
    """Frames that scapy builds parse to the same fields with the same ICRC; with another ICRC they are refused."""
    cases = [scapy_frame(code, name, chance) for code, name in sorted(OPCODES.items()) for _ in range(12)]
    spoiled = []
    for frame, _ in cases:
        wrong = bytearray(frame)
        wrong[-1 - chance.randrange(4)] ^= 1 << chance.randrange(8)
        spoiled.append((bytes(wrong), {"refusal": "rx_bad_icrc"}))
    cases += spoiled
    text = "\n".join(frame.hex() for frame, _ in cases) + "\n"
    out = subprocess.run([frames, "parse"], check=True, input=text, stdout=subprocess.PIPE, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    if len(lines) != len(cases):
        yield f"{len(cases)} frames, {len(lines)} answers"
    for (frame, expected), got in zip(cases, lines):
        if got != expected:
            fields = {k: (expected.get(k), got.get(k)) for k in expected | got if expected.get(k) != got.get(k)}
            yield f"scapy's {frame.hex()}: (scapy, Weft) = {fields}"
    print(f"{len(cases)} frames of scapy's")


def scapy_reads_weft(frames):
    """Frames that Weft builds dissect to the same fields, and scapy computes the same ICRC."""
    out = subprocess.run([frames, "build"], check=True, stdout=subprocess.PIPE, text=True).stdout
    seen = set()
    for ours in map(json.loads, out.splitlines()):
        frame = bytes.fromhex(ours["frame"])
        if frame[12:14] != b"\x08\x00":
            continue  # scapy has no ICRC for IPv6
        seen.add(ours["bth.opcode"])
        packet = Ether(frame)
        bth = packet[BTH]
        theirs = {name: getattr(bth, field) for field, name in BTH_NAMES.items()}
        theirs |= {"ip.src": mapped(packet[IP].src), "ip.dst": mapped(packet[IP].dst), "ip.tc": packet[IP].tos,
                   "ip.hops": packet[IP].ttl, "udp.sport": packet[UDP].sport}
        rest = bytes(bth.payload)
        for layer in extensions(OPCODES[bth.opcode]):
            size = len(layer())
            header, rest = layer(rest[:size]), rest[size:]
            theirs |= {name: getattr(header, field) for field, name in NAMES[layer].items()}
        theirs["payload"] = rest[:len(rest) - bth.padcount].hex()
        theirs["icrc"] = int(bth.icrc)
        ours["icrc"] = int.from_bytes(frame[-4:], "big")
        fields = {k: (theirs[k], ours.get(k)) for k in theirs if theirs[k] != ours.get(k)}
        if fields:
            yield f"Weft's {frame.hex()}: (scapy, Weft) = {fields}"
        del bth.icrc  # scapy computes it anew
        del packet[IP].chksum
        if bytes(packet) != frame:
            yield f"Weft's {frame.hex()}: rebuilt by scapy {bytes(packet).hex()}"
    if seen != set(OPCODES):
        yield f"opcodes only one side has: {sorted(seen ^ set(OPCODES))}"
    print(f"frames of Weft's, {len(seen)} opcodes")


def main(frames):
    failures = [*weft_reads_scapy(frames, random.Random(4791)), *scapy_reads_weft(frames)]
    if failures:
        print("\n".join(failures[:20]))
        sys.exit(f"{len(failures)} failures")
    print("scapy agrees")


if __name__ == "__main__":
    main(sys.argv[1])
