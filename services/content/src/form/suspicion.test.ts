import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRanges } from "@tidings/outbound/address";
import { publicTokens } from "@tidings/secrets/public-token";
import { generateSecretKey } from "@tidings/secrets/secret-box";
import { SHOWN_AT, signShown } from "./showing.ts";
import { suspicionOf, TRAP } from "./suspicion.ts";

const keys = [generateSecretKey("first")];
const rules = {
  blocked: parseRanges(["192.0.2.0/24", "2001:db8::/32"]).ranges,
  shownAt: publicTokens(keys, "form shown"),
};
const NOW = Date.UTC(2026, 0, 1);
const PERSON = { verdict: "human", reason: "" } as const;
const MACHINE = { verdict: "machine", reason: "agent" } as const;

interface Sent {
  members?: Record<string, string>;
  visit?: typeof PERSON | typeof MACHINE | { verdict: "machine"; reason: string };
  headers?: Record<string, string>;
}

const signsOf = ({ members = {}, visit = PERSON, headers = {} }: Sent) =>
  suspicionOf(
    { formId: 7, members: new Map(Object.entries(members)), visit, request: { headers } },
    rules,
    NOW,
  );
const shown = (secondsAgo: number, formId = 7) => ({
  [SHOWN_AT]: signShown({ formId, at: NOW - secondsAgo * 1_000 }, rules),
});
const ORIGIN = { origin: "https://shop.example" };

test("a filled trap and a blocked address are spam by themselves", () => {
  assert.equal(signsOf({ members: { [TRAP]: "x" } }), "trap");
  assert.equal(signsOf({ members: { [TRAP]: "" } }), undefined);
  for (const ip of ["192.0.2.77", "2001:db8::1", "::ffff:192.0.2.1"])
    assert.equal(signsOf({ headers: { "x-forwarded-for": ip } }), "blocked_address", ip);
  for (const ip of ["198.51.100.1", "", "nothing"])
    assert.equal(signsOf({ headers: { "x-forwarded-for": ip } }), undefined, ip);
});

test("one hint is not enough: programs send forms, and browsers fill them in at once", () => {
  assert.equal(signsOf({ visit: MACHINE }), undefined, "a program without a rendered form");
  assert.equal(signsOf({ members: shown(1), headers: ORIGIN }), undefined, "a fast browser");
  assert.equal(signsOf({ members: shown(60) }), undefined, "a page that was rendered long ago");
});

test("two hints are spam", () => {
  assert.equal(signsOf({ members: shown(1), visit: MACHINE, headers: ORIGIN }), "machine,hurried");
  assert.equal(signsOf({ members: shown(1) }), "hurried,no_origin");
  assert.equal(signsOf({ members: shown(60), visit: MACHINE }), "machine,no_origin");
  assert.equal(
    signsOf({ members: shown(60), visit: { verdict: "machine", reason: "excluded" } }),
    undefined,
    "an address that is not tracked is no machine",
  );
});

test("a token that is forged, cut, of another form or of another purpose is as if there were none", () => {
  const token = shown(0)[SHOWN_AT] ?? "";
  const foreign = publicTokens(keys, "form message").sign(`7 ${NOW}`);
  const others = [token.slice(1), token.slice(0, -1), `${token}A`, foreign, "x".repeat(100_000), "."];
  for (const text of [...others, shown(0, 8)[SHOWN_AT] ?? ""])
    assert.equal(signsOf({ members: { [SHOWN_AT]: text } }), undefined, text.slice(0, 80));
});
