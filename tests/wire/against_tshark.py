"""Weft's frames in tshark, field for field. Usage: against_tshark.py FRAMES (the program built from frames.cc)"""

import ipaddress
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Weft's name of a field, tshark's, and how tshark's text becomes Weft's value.
NUMBER = lambda text: int(text, 0)
FLAG = lambda text: {"True": 1, "False": 0}.get(text) if text in ("True", "False") else int(text)
BYTES = lambda text: text.replace(":", "").lower()
WORD = lambda text: int(BYTES(text), 16)


def address(text):
    """Any IP address as 16 bytes."""
    ip = ipaddress.ip_address(text)
    return (b"\0" * 10 + b"\xff\xff" + ip.packed if ip.version == 4 else ip.packed).hex()


PACKET = {
    "udp.sport": ("udp.srcport", NUMBER),
    "bth.opcode": ("infiniband.bth.opcode", NUMBER),
    "bth.solicited": ("infiniband.bth.se", FLAG),
    "bth.migrated": ("infiniband.bth.m", FLAG),
    "bth.pad": ("infiniband.bth.padcnt", NUMBER),
    "bth.version": ("infiniband.bth.tver", NUMBER),
    "bth.pkey": ("infiniband.bth.p_key", NUMBER),
    "bth.qpn": ("infiniband.bth.destqp", NUMBER),
    "bth.ack": ("infiniband.bth.a", FLAG),
    "bth.psn": ("infiniband.bth.psn", NUMBER),
    "deth.qkey": ("infiniband.deth.q_key", NUMBER),
    "deth.qpn": ("infiniband.deth.srcqp", NUMBER),
    "reth.va": ("infiniband.reth.va", NUMBER),
    "reth.key": ("infiniband.reth.r_key", NUMBER),
    "reth.length": ("infiniband.reth.dmalen", NUMBER),
    "atomic.swap": ("infiniband.atomiceth.swapdt", NUMBER),
    "atomic.compare": ("infiniband.atomiceth.cmpdt", NUMBER),
    "aeth.syndrome": ("infiniband.aeth.syndrome", NUMBER),
    "aeth.msn": ("infiniband.aeth.msn", NUMBER),
    "atomicack.original": ("infiniband.atomicacketh.origremdt", NUMBER),
    "imm": ("infiniband.immdt", WORD),
    "ieth.key": ("infiniband.ieth", WORD),
    "mad.class": ("infiniband.mad.mgmtclass", NUMBER),
    "mad.class_version": ("infiniband.mad.classversion", NUMBER),
    "mad.method": ("infiniband.mad.method", NUMBER),
    "mad.transaction": ("infiniband.mad.transactionid", NUMBER),
    "mad.attribute": ("infiniband.mad.attributeid", NUMBER),
}
IPV4 = {
    "ip.src": ("ip.src", address),
    "ip.dst": ("ip.dst", address),
    "ip.tc": ("ip.dsfield", NUMBER),
    "ip.hops": ("ip.ttl", NUMBER),
    "req.primary.local": ("infiniband.cm.req.prim_localgid_ipv4", address),
    "req.primary.remote": ("infiniband.cm.req.prim_remotegid_ipv4", address),
    "req.ip.src": ("infiniband.cm.req.ip_cm.sip4", address),
    "req.ip.dst": ("infiniband.cm.req.ip_cm.dip4", address),
}
IPV6 = {
    "ip.src": ("ipv6.src", address),
    "ip.dst": ("ipv6.dst", address),
    "ip.tc": ("ipv6.tclass", NUMBER),
    "ip.hops": ("ipv6.hlim", NUMBER),
    "ip.label": ("ipv6.flow", NUMBER),
    "req.primary.local": ("infiniband.cm.req.prim_localgid", address),
    "req.primary.remote": ("infiniband.cm.req.prim_remotegid", address),
    "req.ip.src": ("infiniband.cm.req.ip_cm.sip6", address),
    "req.ip.dst": ("infiniband.cm.req.ip_cm.dip6", address),
}
CM = {
    "req.local_id": "req", "req.guid": "req.localcaguid", "req.qkey": "req.localqkey", "req.qpn": "req.localqpn",
    "req.responder_resources": "req.responderres", "req.local_eecn": "req.localeecn",
    "req.initiator_depth": "req.initdepth", "req.remote_eecn": "req.remoteeecn",
    "req.remote_timeout": "req.remoteresptout", "req.transport": "req.transpsvctype",
    "req.flow_control": "req.e2eflowctrl", "req.psn": "req.startpsn", "req.local_timeout": "req.localresptout",
    "req.retries": "req.retrcount", "req.pkey": "req.pkey", "req.mtu": "req.pppmtu", "req.rdc": "req.rdcexist",
    "req.rnr_retries": "req.rnrretrcount", "req.cm_retries": "req.maxcmretr", "req.srq": "req.srq",
    "req.extended": "req.ext_transport",
    "req.primary.local_lid": "req.prim_locallid", "req.primary.remote_lid": "req.prim_remotelid",
    "req.primary.tc": "req.prim_tfcclass", "req.primary.hops": "req.prim_hoplim", "req.primary.sl": "req.prim_sl",
    "req.primary.subnet_local": "req.prim_subnetlocal", "req.primary.ack_timeout": "req.prim_localacktout",
    "req.alternate.local_lid": "req.alt_locallid", "req.alternate.remote_lid": "req.alt_remotelid",
    "req.alternate.local": "req.alt_localgid", "req.alternate.remote": "req.alt_remotegid",
    "req.alternate.tc": "req.alt_tfcclass", "req.alternate.hops": "req.alt_hoplim", "req.alternate.sl": "req.alt_sl",
    "req.alternate.subnet_local": "req.alt_subnetlocal", "req.alternate.ack_timeout": "req.alt_localacktout",
    "req.ip.version": "req.ip_cm.ipv", "req.ip.port": "req.ip_cm.sport", "req.ip.private": "req.ip_cm.private",
    "rep.local_id": "rep", "rep.remote_id": "rep.remotecommid", "rep.qkey": "rep.localqkey",
    "rep.qpn": "rep.localqpn", "rep.eecn": "rep.localeecn", "rep.psn": "rep.startpsn",
    "rep.responder_resources": "rep.respres", "rep.initiator_depth": "rep.initdepth",
    "rep.ack_delay": "rep.tgtackdelay", "rep.failover": "rep.failoveracc", "rep.flow_control": "rep.e2eflowctrl",
    "rep.rnr_retries": "rep.rnrretrcount", "rep.srq": "rep.srq", "rep.guid": "rep.localcaguid",
    "rep.private": "rep.private",
    "rej.local_id": "rej.localcommid", "rej.remote_id": "rej.remotecommid", "rej.about": "rej.msgrej",
    "rej.info_length": "rej.rejinfolen", "rej.reason": "rej.reason", "rej.info": "rej.ari",
    "rej.private": "rej.private",
    "rtu.local_id": "rtu.localcommid", "rtu.remote_id": "rtu.remotecommid", "rtu.private": "rtu.private",
    "dreq.local_id": "dreq.localcommid", "dreq.remote_id": "dreq.remotecommid", "dreq.qpn": "req.remoteqpneecn",
    "dreq.private": "dreq.private",
    "drep.local_id": "drsp.localcommid", "drep.remote_id": "drsp.remotecommid", "drep.private": "drsp.private",
}
HEX = {"private", "info", "local", "remote"}
for ours, theirs in CM.items():
    PACKET[ours] = (f"infiniband.cm.{theirs}", BYTES if ours.rpartition(".")[2] in HEX else NUMBER)

# What tshark 4.0 cannot confirm. Flow label and rate of a REQ's paths: it takes them from the wrong bytes (three for a
# word of four); src/wire/cm_test.cc has them. Service identifiers of rdma_cm: shown in parts, see SERVICE below.
# The atomics' address and key are shown as RETH fields.
UNCONFIRMED = {"frame", "payload", "bth.fecn", "bth.becn", "req.service_id", "atomic.va", "atomic.key"} | {
    f"req.{path}.{field}" for path in ("primary", "alternate") for field in ("label", "rate")}
SERVICE = ("infiniband.cm.req.serviceid.prefix", "infiniband.cm.req.serviceid.protocol",
           "infiniband.cm.req.serviceid.dport")
EXTRA = ["_ws.malformed", "infiniband.reserved", "infiniband.invariant.crc", "data.data", "ip.checksum.status",
         "infiniband.mad.data", *SERVICE]
GUESSERS = "smc smb_direct rpcordma nvme-rdma lnet iser infiniband.eoib infiniband_sdp fcoib".split()
CNP = 0x81  # tshark 4.0 knows its BTH only


def dissect(capture):
    """One {field: text} per frame."""
    fields = sorted({theirs for table in (PACKET, IPV4, IPV6) for theirs, _ in table.values()} | set(EXTRA))
    # Payloads are noise: no dissector may recognize itself in them.
    command = ["tshark", "-n", "-r", capture, "--disable-heuristic", "eth_over_ib"]
    command += [word for name in GUESSERS for word in ("--disable-protocol", name)]
    command += ["-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "occurrence=f", "-E", "separator=/t"]
    command += [word for name in fields for word in ("-e", name)]
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        sys.exit("tshark is not installed: run scripts/bootstrap")
    if run.returncode != 0:
        sys.exit(run.stderr)
    return [dict(zip(fields, line.split("\t"))) for line in run.stdout.splitlines()]


def differences(ours, theirs):
    """What tshark says otherwise, or does not say, or says and Weft does not."""
    frame = bytes.fromhex(ours["frame"])
    version = 4 if frame[12:14] == b"\x08\x00" else 6
    table = PACKET | (IPV4 if version == 4 else IPV6)
    for name, value in ours.items():
        if name in UNCONFIRMED or (name == "ip.label" and version == 4):
            continue
        field, read = table[name]
        if theirs[field] == "":
            yield f"{name} = {value}: tshark has no {field}"
        elif read(theirs[field]) != value:
            yield f"{name} = {value}: tshark has {field} = {theirs[field]}"
    if theirs["_ws.malformed"]:
        yield "tshark calls it malformed"
    # The other way round: tshark sees no header that Weft did not write.
    atomic = "atomic.va" in ours
    for name, (field, _) in table.items():
        if theirs[field] != "" and name not in ours and not (atomic and name in ("reth.va", "reth.key")):
            yield f"tshark has {field} = {theirs[field]}, Weft has no {name}"

    if atomic and (int(theirs["infiniband.reth.va"], 0), int(theirs["infiniband.reth.r_key"], 0)) != (
            ours["atomic.va"], ours["atomic.key"]):
        yield f"atomic address and key: tshark has {theirs['infiniband.reth.va']}, {theirs['infiniband.reth.r_key']}"
    if int(theirs["infiniband.reserved"], 16) != ours["bth.fecn"] << 7 | ours["bth.becn"] << 6:
        yield f"FECN and BECN: tshark has {theirs['infiniband.reserved']}"
    if version == 4 and theirs["ip.checksum.status"] not in ("1", "Good"):
        yield f"IP checksum: tshark says {theirs['ip.checksum.status']}"
    if "req.service_id" in ours:
        prefix, protocol, port = (theirs[field] for field in SERVICE)
        if int(BYTES(prefix), 16) << 24 | int(protocol, 0) << 16 | int(port, 0) != ours["req.service_id"]:
            yield f"service {ours['req.service_id']:#x}: tshark has {prefix} {protocol} {port}"
    if ours["bth.opcode"] == CNP:
        return
    if int(theirs["infiniband.invariant.crc"], 16) != int.from_bytes(frame[-4:], "big"):
        yield f"ICRC: tshark has {theirs['infiniband.invariant.crc']}"
    if "mad.class" in ours:
        if BYTES(theirs["infiniband.mad.data"]) != ours["payload"][48:]:
            yield f"MAD data: tshark has {theirs['infiniband.mad.data']}"
    elif BYTES(theirs["data.data"]) != ours["payload"] + "00" * ours["bth.pad"]:  # tshark does not take the pad off
        yield f"payload {ours['payload']}: tshark has {theirs['data.data']}"


def main(frames):
    with tempfile.TemporaryDirectory() as folder:
        capture = str(Path(folder) / "frames.pcap")
        lines = subprocess.run([frames, "pcap", capture], check=True, stdout=subprocess.PIPE, text=True).stdout
        ours = [json.loads(line) for line in lines.splitlines()]
        theirs = dissect(capture)
    if len(ours) != len(theirs) or len(ours) < 250:
        sys.exit(f"{len(ours)} frames, of which tshark read {len(theirs)}")
    failed = 0
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        for difference in differences(a, b):
            failed += 1
            print(f"frame {number}, opcode {a['bth.opcode']:#04x}: {difference}")
    if failed:
        sys.exit(f"{failed} differences")
    print(f"{len(ours)} frames, {sum(len(a) for a in ours)} fields: tshark agrees")


if __name__ == "__main__":
    main(sys.argv[1])
