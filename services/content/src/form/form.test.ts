import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { timestampFromMilliseconds } from "@tidings/database/timestamp";
import { type Form, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { Code, Fault } from "@tidings/rpc/fault";
import fc from "fast-check";
import { callAs, type FormScene, formScene, submissionOf, updateOf } from "../testing/form-scene.ts";

let scene: FormScene;
before(async () => {
  scene = await formScene();
});
after(() => scene.close());

const isFault = (code: Code) => (error: unknown) => error instanceof Fault && error.code === code;
const labels = ({ fields }: Form) => fields.map(({ label }) => label);

test("fields and actions that are given no place come last, in the order they were sent in", async () => {
  const form = await scene.add({
    fields: [
      { label: "C", type: "text" },
      { label: "A", type: "text", order: 1 },
      { label: "B", type: "text", order: 2 },
      { label: "D", type: "text" },
    ],
  });
  assert.deepEqual(labels(form), ["A", "B", "C", "D"]);
  assert.deepEqual(
    form.fields.map(({ order }) => order),
    [1, 2, 3, 4],
  );
  const [, b] = form.fields;
  const { item } = await scene.rows.update(
    updateOf(
      form.id,
      {
        fields: [
          { id: b?.id ?? 0, order: 9 },
          { label: "E", type: "text" },
        ],
      },
      ["fields"],
    ),
    callAs(),
  );
  assert.deepEqual(labels(item), ["A", "C", "D", "B", "E"]);
});

test("one bad field or action fails the whole form, with a message of its own", async () => {
  const form = await scene.add({ fields: [{ label: "A", type: "text" }] });
  const told = async (members: Parameters<typeof updateOf>[1]) => {
    const paths = ["name", "fields", "actions"];
    const update = scene.rows.update(updateOf(form.id, { name: "Changed", ...members }, paths), callAs());
    const fault = await update.then(
      () => assert.fail("it was taken"),
      (error: Fault) => error,
    );
    assert.ok(fault instanceof Fault && fault.code === Code.INVALID_ARGUMENT);
    assert.deepEqual(fault.violations, []);
    return fault.message;
  };
  assert.equal(await told({ fields: [{ label: " ", type: "text" }] }), "A label is required.");
  assert.equal(await told({ fields: [{ label: "B" }] }), "A type is required");
  assert.match(await told({ fields: [{ label: "B", type: "hologram" }] }), /checkboxgrp/);
  assert.equal(await told({ actions: [{ name: "B" }] }), "A name is required.");
  assert.match(
    await told({ fields: [{ label: "B", type: "text", alias: "a" }] }),
    /already using this alias: a\./,
  );
  assert.match(
    await told({ fields: [{ label: "B", type: "text", order: 2 ** 31 - 1 }] }),
    /^fields\[1\]\.order/,
  );
  const countries = Array.from({ length: 50 }, (_, index) => ({ label: `C${index}`, type: "country" }));
  assert.match(await told({ fields: countries }), /too many choices/);
  assert.deepEqual(labels(await scene.rows.get(form.id, callAs())), ["A"]);
});

test("a form keeps its action after a submission", async () => {
  const post = (postAction: string, postActionProperty?: string) =>
    scene.add({ postAction, ...(postActionProperty && { postActionProperty }) });
  await assert.rejects(post("message"), isFault(Code.INVALID_ARGUMENT));
  await assert.rejects(post("redirect"), isFault(Code.INVALID_ARGUMENT));
  await assert.rejects(post("redirect", "javascript:alert(1)"), isFault(Code.INVALID_ARGUMENT));
  assert.equal((await post("redirect", "{pagelink=4}")).postAction, "redirect");
  assert.equal((await post("return")).postAction, "return");
});

test("an alias is made of the name, stays when the name changes, and may be that of others", async () => {
  const [one, other] = [
    await scene.add({ name: "Größe & Farbe" }),
    await scene.add({ name: "Größe & Farbe" }),
  ];
  assert.deepEqual([one.alias, other.alias], ["grosse__fa", "grosse__fa"]);
  const { item } = await scene.rows.update(updateOf(one.id, { name: "Size" }, ["name"]), callAs());
  assert.equal(item.alias, "grosse__fa");
});

test("forms are found by their dates and by what was sent with them", async () => {
  const day = (days: number) => timestampFromMilliseconds(Date.now() + days * 86_400_000);
  const fields = [{ label: "A", type: "text" }];
  const expired = await scene.add({ publishDown: day(-1) });
  const pending = await scene.add({ publishUp: day(1) });
  const used = await scene.add({ fields });
  await scene.submissions.submitForm(submissionOf(used.id, { a: "x" }), callAs());
  const ids = [expired, pending, used].map(({ id }) => id);
  const found = async (command: string) => {
    const search = `ids:${ids.join(",")} ${command}`;
    const { items } = await scene.rows.list(create(ListQuerySchema, { pageSize: 10, search }), callAs());
    return items.map(({ id }) => id);
  };
  assert.deepEqual(await found("is:expired"), [expired.id]);
  assert.deepEqual(await found("is:pending"), [pending.id]);
  assert.deepEqual(await found("has:results"), [used.id]);
  assert.deepEqual((await found("!has:results")).sort(), [expired.id, pending.id]);
});

test("parts are taken out of a form, whatever else was named, by who may edit it", async () => {
  const form = await scene.add({
    fields: [
      { label: "A", type: "text" },
      { label: "B", type: "text" },
    ],
    actions: [{ type: "x" }, { type: "y" }],
  });
  const other = await scene.add({ fields: [{ label: "C", type: "text" }] });
  const fieldIds = [form.fields[0]?.id ?? 0, other.fields[0]?.id ?? 0, 2_000_000_000];
  await scene.methods.removeFormFields(
    { $typeName: "tidings.content.v1.RemoveFormFieldsRequest", id: form.id, fieldIds },
    callAs(),
  );
  const actionIds = [form.actions[1]?.id ?? 0];
  await scene.methods.removeFormActions(
    { $typeName: "tidings.content.v1.RemoveFormActionsRequest", id: form.id, actionIds },
    callAs(),
  );
  const left = await scene.rows.get(form.id, callAs());
  assert.deepEqual([labels(left), left.actions.map(({ type }) => type)], [["B"], ["x"]]);
  assert.deepEqual(labels(await scene.rows.get(other.id, callAs())), ["C"]);
});

test("edits of one form at the same time lose nothing", async () => {
  const form = await scene.add({ fields: [{ label: "A", type: "text" }], actions: [{ type: "x" }] });
  const edits = Array.from({ length: 12 }, (_, index) =>
    scene.rows.update(
      index % 2 === 0
        ? updateOf(form.id, { fields: [{ label: `F${index}`, type: "text" }] }, ["fields"])
        : updateOf(form.id, { actions: [{ type: `a${index}` }] }, ["actions"]),
      callAs(),
    ),
  );
  await Promise.all(edits);
  const { fields, actions } = await scene.rows.get(form.id, callAs());
  assert.deepEqual(fields.map(({ label }) => label).sort(), ["A", "F0", "F10", "F2", "F4", "F6", "F8"]);
  assert.equal(new Set(fields.map(({ id }) => id)).size, 7);
  assert.deepEqual(actions.map(({ type }) => type).sort(), ["a1", "a11", "a3", "a5", "a7", "a9", "x"]);
});

/** An item of an edit: the place of an existing one, or of none. */
interface Said {
  at: number | undefined;
  text: string;
}
interface Edit {
  isPut: boolean;
  fields: Said[] | undefined;
  actions: Said[] | undefined;
}
interface Item {
  id: number;
  text: string;
}

const said = fc.uniqueArray(
  fc.record({
    at: fc.option(fc.nat({ max: 5 }), { nil: undefined }),
    text: fc.string({ minLength: 1, maxLength: 5 }),
  }),
  { maxLength: 4, selector: ({ at }) => at ?? Number.NaN, comparator: "IsStrictlyEqual" },
);
const edit: fc.Arbitrary<Edit> = fc.record({
  isPut: fc.boolean(),
  fields: fc.option(said, { nil: undefined }),
  actions: fc.option(said, { nil: undefined }),
});

/** A list after an edit: named items are changed, new ones follow, the others stay unless the list is replaced. */
function changed(
  items: Item[],
  list: Said[] | undefined,
  isPut: boolean,
): (Item | { id: undefined; text: string })[] {
  if (!list) return isPut ? [] : items;
  const named = list.map(({ at, text }) => ({ id: at === undefined ? undefined : items[at]?.id, text }));
  const stayed = items.flatMap(({ id, text }) => {
    const found = named.find((one) => one.id === id);
    if (found) return [{ id, text: found.text }];
    return isPut ? [] : [{ id, text }];
  });
  return [...stayed, ...named.filter(({ id }) => id === undefined)];
}

test("after any edits fields and actions are what a plain list says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 8 }), async (edits) => {
      let form = await scene.add({});
      let [fields, actions]: Item[][] = [[], []];
      for (const { isPut, ...lists } of edits) {
        const itemsOf = (list: Said[] | undefined, known: Item[] = []) =>
          list?.map(({ at, text }) => ({
            id: (at === undefined ? 0 : known[at]?.id) ?? 0,
            text: `t${text.trim()}`,
          }));
        const sent = { fields: itemsOf(lists.fields, fields), actions: itemsOf(lists.actions, actions) };
        const message = create(FormSchema, {
          name: "Form",
          fields: (sent.fields ?? []).map(({ id, text }) => ({ id, label: text, type: "text" })),
          actions: (sent.actions ?? []).map(({ id, text }) => ({ id, name: text, type: "x" })),
        });
        const paths = isPut ? ["*"] : Object.entries(sent).flatMap(([name, list]) => (list ? [name] : []));
        form = (await scene.rows.update({ ...updateOf(form.id, {}, paths), message }, callAs())).item;
        const marked = (list: Said[] | undefined) =>
          list?.map(({ at, text }) => ({ at, text: `t${text.trim()}` }));
        const expected = [
          changed(fields ?? [], marked(lists.fields), isPut),
          changed(actions ?? [], marked(lists.actions), isPut),
        ];
        const actual = [
          form.fields.map(({ id, label }) => ({ id, text: label })),
          form.actions.map(({ id, name = "" }) => ({ id, text: name })),
        ];
        actual.forEach((items, index) => {
          assert.deepEqual(
            items.map(({ text }) => text),
            expected[index]?.map(({ text }) => text),
          );
          expected[index]?.forEach(({ id }, at) => {
            if (id !== undefined) assert.equal(items[at]?.id, id);
          });
          assert.equal(new Set(items.map(({ id }) => id)).size, items.length);
        });
        [fields, actions] = actual;
      }
      const stored = await scene.rows.get(form.id, callAs());
      assert.deepEqual(toBinary(FormSchema, stored), toBinary(FormSchema, form));
      assert.equal(new Set(stored.fields.map(({ alias }) => alias)).size, stored.fields.length);
    }),
    { numRuns: 60 },
  );
});

test("a list that is one of contacts is shown as it is there now", async () => {
  const own = { list: { list: [{ label: "Old", value: "o" }] }, syncList: 1 };
  const properties = Buffer.from(JSON.stringify(own));
  const field = { label: "Colour", type: "select", mappedField: "colour", properties };
  const { id, cachedHtml } = await scene.add({ fields: [field] });
  assert.match(cachedHtml ?? "", /<option value="r">Red<\/option>/);
  assert.doesNotMatch(cachedHtml ?? "", /Old/);
  await scene.query(`update contact_fields set properties = '{"list": ["Blue"]}' where alias = 'colour'`);
  assert.match((await scene.rows.get(id, callAs())).cachedHtml ?? "", /<option value="Blue">Blue<\/option>/);
});
