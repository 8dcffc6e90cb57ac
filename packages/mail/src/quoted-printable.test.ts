import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { quotedPrintable } from "./quoted-printable.ts";

test("blanks at the end of lines, the sign of the code itself and other octets than ASCII are written out", () => {
  const cases: [text: string, written: string][] = [
    ["a = b\tc", "a =3D b\tc"],
    ["a \r\nb\t", "a=20\r\nb=09"],
    ["ü\0\r\n\r", "=C3=BC=00\r\n=0D"],
    ["From x\r\nFrom y, From z", "=46rom x\r\n=46rom y, From z"],
    ["", ""],
  ];
  for (const [text, written] of cases) assert.equal(quotedPrintable(text).toString(), written);
});

test("no line is longer than 76 octets, and all of them together are the text", () => {
  const texts = fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.constant("w".repeat(10_000)));
  fc.assert(
    fc.property(texts, (text) => {
      const written = quotedPrintable(text).toString("latin1");
      assert.ok(written.split("\r\n").every((line) => line.length <= 76));
      const joined = written.replaceAll("=\r\n", "");
      const read = joined.replace(/=([0-9A-F]{2})/g, (_, hex) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
      assert.equal(read, Buffer.from(text).toString("latin1"));
    }),
    { seed: 20_261_126, numRuns: 500 },
  );
});
