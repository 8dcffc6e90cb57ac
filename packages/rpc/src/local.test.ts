import assert from "node:assert/strict";
import { test } from "node:test";
import { TagSchema } from "@tidings/proto/tidings/contact/v1/tag";
import { TagService } from "@tidings/proto/tidings/contact/v1/tag_service";
import type { Actor } from "./actor.ts";
import type { Call } from "./call.ts";
import type { Handlers } from "./definition.ts";
import { Fault, notFound } from "./fault.ts";
import { local } from "./local.ts";

const actor: Actor = {
  kind: "user",
  id: 1,
  name: "Ada",
  admin: false,
  permissions: { "lead:leads": ["viewother"] },
};
const outgoing = { actor, deadlineMs: Date.now() + 1_000, requestId: "r" };

let seen: Call | undefined;
const handlers = {
  getTag: ({ id }, call) => {
    seen = call;
    if (id === 0) throw notFound();
    return { id, tag: "a" };
  },
  createTag: () => assert.fail("nobody may create"),
} satisfies Partial<Handlers<typeof TagService>>;
const tags = local(TagService, handlers as unknown as Handlers<typeof TagService>);

test("a handler is called with the caller, and its answer is a message", async () => {
  const tag = await tags.getTag({ id: 7 }, outgoing);
  assert.deepEqual([tag.$typeName, tag.id, tag.tag], [TagSchema.typeName, 7, "a"]);
  assert.deepEqual(
    [seen?.actor, seen?.deadlineMs, seen?.requestId],
    [actor, outgoing.deadlineMs, outgoing.requestId],
  );
});

test("a local call is refused as a server would refuse it, and a fault is passed on as it was thrown", async () => {
  const isFault = (reason: string) => (error: unknown) => error instanceof Fault && error.reason === reason;
  await assert.rejects(tags.createTag({}, outgoing), isFault("PERMISSION_DENIED"));
  await assert.rejects(tags.getTag({}, outgoing), isFault("NOT_FOUND"));
});
