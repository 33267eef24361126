"""A capture of a real port's tap as tshark reads it. Usage: tap_test.py SAMPLE (the program built from sample.cc)"""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SAMPLE = sys.argv.pop()
FIELDS = ["frame.time_epoch", "frame.interface_name", "frame.packet_flags_direction", "frame.comment",
          "frame.protocols", "ip.src", "ipv6.dst", "ip.dsfield.ecn", "ip.checksum.status", "udp.dstport",
          "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.reth.r_key",
          "infiniband.reth.dmalen"]


def capture():
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sample.pcapng"
        subprocess.run([SAMPLE, file], check=True, timeout=30)
        command = ["tshark", "-r", file, "-o", "ip.check_checksum:TRUE", "-T", "json"]
        done = subprocess.run([*command, *(x for f in FIELDS for x in ("-e", f))], check=True, timeout=60,
                              capture_output=True, text=True)
        return [{k: v[0] for k, v in p["_source"]["layers"].items()} for p in json.loads(done.stdout)]


class Capture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packets = capture()

    def test_packets_are_roce(self):
        self.assertEqual(len(self.packets), 4)
        for number, packet in enumerate(self.packets[:3], 1):
            self.assertIn("infiniband", packet["frame.protocols"])
            self.assertEqual(packet["udp.dstport"], "4791")
            self.assertEqual(int(packet["infiniband.bth.opcode"], 0), 0x0A)
            self.assertEqual(int(packet["infiniband.bth.destqp"], 0), 0x1234)
            self.assertEqual(int(packet["infiniband.bth.psn"], 0), number)
            self.assertEqual(int(packet["infiniband.reth.r_key"], 0), 0x77)
            self.assertEqual(int(packet["infiniband.reth.dmalen"], 0), 21)

    def test_envelopes_are_right(self):
        self.assertEqual(self.packets[0]["ip.src"], "127.0.0.1")
        self.assertEqual(self.packets[0]["ip.dsfield.ecn"], "3")
        self.assertEqual(self.packets[0]["ip.checksum.status"], "1")
        self.assertEqual(self.packets[2]["ipv6.dst"], "fd02::")

    def test_comments_say_why(self):
        self.assertNotIn("frame.comment", self.packets[0])
        self.assertEqual(self.packets[1]["frame.comment"], "dropped: loss (impairment)")
        self.assertIn("refused: rx_bad_icrc: invariant CRC does not match", self.packets[2]["frame.comment"])

    def test_direction_interface_and_time(self):
        self.assertEqual([int(p["frame.packet_flags_direction"], 0) for p in self.packets], [2, 2, 1, 1])
        self.assertEqual({p["frame.interface_name"] for p in self.packets}, {"weft0"})
        times = [int(p["frame.time_epoch"].replace(".", "")) for p in self.packets]
        self.assertEqual([t - times[0] for t in times], [0, 1_234_567, 1_000_000_000, 2_000_000_000])
        self.assertLess(abs(times[0] / 1e9 - time.time()), 600)


if __name__ == "__main__":
    unittest.main()
