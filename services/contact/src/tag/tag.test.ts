import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import {
  BatchCreateTagsRequestSchema,
  CreateTagRequestSchema,
  UpdateTagRequestSchema,
} from "@tidings/proto/tidings/contact/v1/tag_service";
import { Code, Fault } from "@tidings/rpc/fault";
import { callAs, contactScene } from "../testing/contact-scene.ts";
import { tagHandlers } from "./tag.ts";

let scene: Awaited<ReturnType<typeof contactScene>>;
let handlers: ReturnType<typeof tagHandlers>;
before(async () => {
  scene = await contactScene();
  handlers = tagHandlers(scene.context);
});
after(() => scene.close());

const add = (tag: string) => handlers.createTag(create(CreateTagRequestSchema, { tag: { tag } }), callAs());

test("a tag that exists is answered instead of made again", async () => {
  const first = await add("vip");
  const second = await add(" vip ");
  assert.equal(first.created, true);
  assert.equal(second.created, false);
  assert.equal(second.tag?.id, first.tag?.id);
});

test("32 parallel creations of one tag make one tag", async () => {
  const saved = await Promise.all(Array.from({ length: 32 }, () => add("popular")));
  assert.equal(new Set(saved.map(({ tag }) => tag?.id)).size, 1);
});

test("a batch makes what is new, answers what is known, and refuses only what is bad", async () => {
  await add("known");
  const requests = ["fresh", "known", "fresh", " ", " "].map((tag) =>
    create(CreateTagRequestSchema, { tag: { tag } }),
  );
  const { tags = [], statuses = [] } = await handlers.batchCreateTags(
    create(BatchCreateTagsRequestSchema, { requests }),
    callAs(),
  );
  assert.deepEqual(
    statuses.map(({ created }) => Boolean(created)),
    [true, false, false, false, false],
  );
  assert.deepEqual(
    statuses.map(({ error }) => error?.message),
    [undefined, undefined, undefined, "tag: A value is required.", "tag: A value is required."],
  );
  assert.equal(tags[0]?.id, tags[2]?.id);
});

test("tags of HTML are taken out, and entities are the signs they stand for", async () => {
  assert.equal((await add("<b>R&amp;D</b> &lt;3")).tag?.tag, "R&D <3");
});

test("a tag without text is refused", async () => {
  await assert.rejects(
    async () => add("  "),
    (error: unknown) => error instanceof Fault && error.code === Code.INVALID_ARGUMENT,
  );
});

test("a tag of which nothing is left once it is cleaned is refused, new or changed, alone or in a batch", async () => {
  const isRequired = { violations: [{ field: "tag", message: "A value is required." }] };
  for (const tag of [" ", "<b></b>"]) await assert.rejects(async () => add(tag), isRequired, tag);
  const { tag } = await add("Kept");
  const update = create(UpdateTagRequestSchema, {
    id: tag?.id ?? 0,
    tag: { tag: "<b></b>" },
    updateMask: { paths: ["tag"] },
  });
  await assert.rejects(async () => handlers.updateTag(update, callAs()), isRequired);
  const requests = ["<b></b>", "Fine"].map((text) => ({ tag: { tag: text } }));
  const { statuses } = await handlers.batchCreateTags(
    create(BatchCreateTagsRequestSchema, { requests }),
    callAs(),
  );
  assert.deepEqual(
    statuses?.map(({ error }) => error?.code),
    [3, undefined],
  );
});
