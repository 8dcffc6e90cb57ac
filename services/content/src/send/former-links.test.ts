import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { isFormerLink, readFormerSecrets } from "./former-links.ts";

const SECRETS = ["0123456789abcdef0", "fedcba98765432100"];
const macOf = (address: string, secret = SECRETS[1] ?? "") =>
  createHmac("sha256", secret).update(address).digest("hex");

test("an address is understood that one of the former secrets signed, and no other", () => {
  const address = "ada+news@example.org";
  const mac = macOf(address);
  assert.equal(isFormerLink(SECRETS, address, mac), true);
  assert.equal(isFormerLink(SECRETS, address, mac.toUpperCase()), true);
  assert.equal(isFormerLink(SECRETS, "grace@example.org", mac), false);
  assert.equal(isFormerLink(SECRETS.slice(0, 1), address, mac), false);
  for (const forged of ["", mac.slice(1), `${mac}0`, macOf(address, "another secret of 16")])
    assert.equal(isFormerLink(SECRETS, address, forged), false, forged);
  const long = `${"a".repeat(320)}@example.org`;
  assert.equal(isFormerLink(SECRETS, long, macOf(long)), false);
  assert.equal(isFormerLink([], address, mac), false);
});

test("a former secret that is short enough to be guessed is a problem, and is not named", () => {
  assert.deepEqual(readFormerSecrets(SECRETS), SECRETS);
  assert.deepEqual(readFormerSecrets([...SECRETS, "short"]), {
    problem: "entry 3 needs at least 16 characters",
  });
});
