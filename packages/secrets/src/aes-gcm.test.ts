import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openBytes, sealBytes } from "./aes-gcm.ts";

const key = randomBytes(32);
const bound = Buffer.from("a caller");

test("sealed parts are opened as one by the key, bound to the same", () => {
  const sealed = sealBytes(key, [Buffer.from("a"), Buffer.from("bc")], bound);
  assert.equal(openBytes(key, sealed, bound).toString(), "abc");
  assert.throws(() => openBytes(key, sealed, Buffer.from("another")));
  assert.throws(() => openBytes(randomBytes(32), sealed, bound));
});

test("bytes that were changed anywhere, or cut to any length, are not opened", () => {
  const sealed = sealBytes(key, [Buffer.from("abc")], bound);
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.throws(() => openBytes(key, changed, bound), String(index));
    assert.throws(() => openBytes(key, sealed.subarray(0, index), bound), String(index));
    assert.throws(() => openBytes(key, sealed.subarray(index + 1), bound), String(index));
  }
});
