import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { Code, Fault } from "@tidings/rpc/fault";
import { listCall, segmentScene } from "../../testing/segment-scene.ts";

type Values = Record<string, unknown>;

let scene: Awaited<ReturnType<typeof segmentScene>>;
const ids = new Map<string, number>();

/** The people that filters are tried on, by first name. */
const PEOPLE: Record<string, Values> = {
  ada: { email: "ada@example.com", city: "London", points: 12, attribution: 12.5 },
  bob: { email: "bob@example.org", city: "Rome", colors: "red|blue", shoe_size: 42, vip: true },
  cleo: { city: "new york", colors: "red", shoe_size: 38.5, vip: false, born: "1990-02-28" },
  dan: { email: "dan_1@example.com", city: "100% Rome", born: "1985-12-31", seen: "2024-05-01 10:30:00" },
  eve: {},
};
const everyone = Object.keys(PEOPLE);

before(async () => {
  scene = await segmentScene();
  await scene.addField("colors", "multiselect", { list: ["red", "blue", "green"] });
  await scene.addField("shoe_size", "number", { scale: 1 });
  await scene.addField("vip", "boolean", { yes: "Yes", no: "No" });
  await scene.addField("born", "date");
  await scene.addField("seen", "datetime");
  for (const [name, values] of Object.entries(PEOPLE)) {
    const { points = 0, ...others } = values;
    ids.set(name, await scene.addContact({ firstname: name, ...others }, { points }));
  }
});
after(() => scene.close());

function json(value: unknown): Uint8Array<ArrayBuffer> {
  return Buffer.from(JSON.stringify(value));
}

async function found(...filters: Values[]): Promise<string[]> {
  const request = {
    $typeName: "tidings.contact.v1.PreviewSegmentRequest" as const,
    filters: json(filters.map((filter) => ({ object: "lead", ...filter }))),
  };
  const { contactIds = [], count } = await scene.segments.previewSegment(request, listCall());
  assert.equal(count, contactIds.length);
  return everyone.filter((name) => contactIds.includes(ids.get(name) ?? 0));
}

const without = (...names: string[]) => everyone.filter((name) => !names.includes(name));

describe("a filter finds", () => {
  const cases: [field: string, operator: string, filter: unknown, names: string[]][] = [
    ["city", "=", "rome", ["bob"]],
    ["city", "!=", "Rome", without("bob")],
    ["city", "empty", null, ["eve"]],
    ["city", "!empty", "", without("eve")],
    ["city", "like", "ROME", ["bob", "dan"]],
    ["city", "like", "%om%", ["bob", "dan"]],
    ["city", "like", "rom%", ["bob"]],
    ["city", "!like", "rome", without("bob", "dan")],
    ["city", "startsWith", "New", ["cleo"]],
    ["city", "startsWith", "100%", ["dan"]],
    ["city", "startsWith", "_ome", []],
    ["city", "endsWith", "ON", ["ada"]],
    ["city", "contains", "w y", ["cleo"]],
    ["city", "contains", "0%", ["dan"]],
    ["city", "regexp", "^(rome|london)$", ["ada", "bob"]],
    ["city", "!regexp", "^(rome|london)$", ["cleo", "dan"]],
    ["city", "in", ["ROME", "London"], ["ada", "bob"]],
    ["city", "in", "rome|london", ["ada", "bob"]],
    ["city", "=", ["rome", "london"], ["ada", "bob"]],
    ["city", "!in", ["Rome"], without("bob")],
    ["email", "endsWith", "example.com", ["ada", "dan"]],
    ["colors", "in", ["red"], ["bob", "cleo"]],
    ["colors", "in", ["red", "blue"], ["bob"]],
    ["colors", "in", "re", []],
    ["colors", "!in", ["blue"], without("bob")],
    ["colors", "!in", ["red", "green"], without("bob", "cleo")],
    ["colors", "empty", "", without("bob", "cleo")],
    ["shoe_size", "=", "42", ["bob"]],
    ["shoe_size", "=", 42.0, ["bob"]],
    ["shoe_size", "!=", 42, without("bob")],
    ["shoe_size", "gt", 38.5, ["bob"]],
    ["shoe_size", "gte", 38.5, ["bob", "cleo"]],
    ["shoe_size", "lt", 42, ["cleo"]],
    ["shoe_size", "lte", "42", ["bob", "cleo"]],
    ["shoe_size", "between", [38, 40], ["cleo"]],
    ["shoe_size", "!between", [38, 40], without("cleo")],
    ["shoe_size", "empty", "", without("bob", "cleo")],
    ["shoe_size", "startsWith", "3", ["cleo"]],
    ["vip", "=", 1, ["bob"]],
    ["vip", "=", "false", ["cleo"]],
    ["vip", "!=", true, without("bob")],
    ["points", "gt", 10, ["ada"]],
    ["points", "=", 0, without("ada")],
    ["born", "=", "1990-02-28", ["cleo"]],
    ["born", "!=", "1990-02-28", without("cleo")],
    ["born", "lt", "1990-01-01", ["dan"]],
    ["born", "gte", "1985-12-31", ["cleo", "dan"]],
    ["born", "like", "1990-%", ["cleo"]],
    ["born", "startsWith", "19", ["cleo", "dan"]],
    ["born", "between", ["1985-01-01", "1985-12-31"], ["dan"]],
    ["born", "empty", null, without("cleo", "dan")],
    ["seen", "=", "2024-05-01", ["dan"]],
    ["seen", "=", "2024-05-01 10:30", ["dan"]],
    ["seen", "=", "2024-05-01 10:31", []],
    ["seen", "gt", "2024-05-01", ["dan"]],
    ["seen", "lte", "2024-05-01", []],
    ["seen", "like", "2024-05-01 10", ["dan"]],
    ["date_added", "=", "today", everyone],
    ["date_added", "gt", "today", []],
    ["date_added", "lte", "today", everyone],
    ["date_added", "gte", "-1 day", everyone],
    ["date_added", "!=", "yesterday", everyone],
    ["date_added", "=", "this year", everyone],
    ["date_added", "=", "anniversary", everyone],
    ["date_added", "=", "birthday -1 day", []],
    ["date_identified", "empty", "", []],
    ["owner_id", "empty", "", everyone],
    ["owner_id", "=", 3, []],
    ["stage", "!=", 3, everyone],
    ["tags", "empty", "", everyone],
    ["tags", "!in", [1], everyone],
    ["dnc_bounced", "=", 0, everyone],
    ["dnc_bounced", "!=", 1, everyone],
    ["dnc_unsubscribed", "=", true, []],
  ];
  for (const [field, operator, filter, names] of cases) {
    test(`${names.join(", ") || "nobody"} by ${field} ${operator} ${JSON.stringify(filter)}`, async () => {
      assert.deepEqual(await found({ field, operator, filter }), names);
    });
  }
});

describe("filters are joined", () => {
  const isFrom = (city: string, glue: string) => ({ field: "city", operator: "=", filter: city, glue });
  const hasMail = (glue: string) => ({ field: "email", operator: "!empty", filter: "", glue });

  test("and binds, or begins another group", async () => {
    const groups = [isFrom("London", "or"), hasMail("and"), isFrom("new york", "or"), hasMail("and")];
    assert.deepEqual(await found(...groups), ["ada"]);
  });
  test("the first glue has no meaning", async () => {
    assert.deepEqual(await found(isFrom("Rome", "or")), ["bob"]);
    assert.deepEqual(await found(isFrom("Rome", "and")), ["bob"]);
  });
  test("several values of one field in a row are a list, for which what follows holds", async () => {
    const filters = [isFrom("Oslo", "and"), isFrom("new york", "or"), isFrom("rome", "or"), hasMail("and")];
    assert.deepEqual(await found(...filters), ["bob"]);
  });
});

test("do-not-contact, tags, companies and UTM tags can be asked for", async () => {
  const contactId = await scene.addContact(
    { email: "kim@example.com", company: "Acme" },
    { tags: ["gold"], doNotContact: [{ channel: "email", reason: 2 }] },
  );
  await scene.query(
    `insert into companies (date_added, companyname, companycity) values (now(), 'Linked', 'Bonn'), (now(), 'Other', null)`,
  );
  await scene.query(
    `insert into company_contacts (contact_id, company_id, is_primary, date_added)
     select $1, id, false, now() from companies where companyname in ('Linked', 'Other')`,
    [contactId],
  );
  await scene.query("insert into utm_tags (contact_id, date_added, utm_source) values ($1, now(), 'news')", [
    contactId,
  ]);
  ids.set("kim", contactId);
  everyone.push("kim");
  const [tag] = await scene.query("select id from tags where tag = 'gold'");
  const company = (field: string, operator: string, filter: unknown) => ({
    object: "company",
    field,
    operator,
    filter,
  });
  const cases: [filter: Values, names: string[]][] = [
    [{ field: "dnc_bounced", operator: "=", filter: 1 }, ["kim"]],
    [{ field: "dnc_manual_email", operator: "=", filter: 1 }, []],
    [{ field: "tags", operator: "in", filter: [Number(tag?.id)] }, ["kim"]],
    [{ field: "tags", operator: "!in", filter: [Number(tag?.id)] }, without("kim")],
    [{ field: "tags", operator: "!empty", filter: "" }, ["kim"]],
    [company("companyname", "=", "linked"), ["kim"]],
    [company("companyname", "!=", "linked"), everyone],
    [company("companycity", "empty", ""), ["kim"]],
    [company("companycity", "!like", "bonn"), everyone],
    [company("companycity", "startsWith", "Bo"), ["kim"]],
    [{ field: "utm_source", operator: "=", filter: "NEWS" }, ["kim"]],
    [{ field: "utm_source", operator: "!=", filter: "news" }, without("kim")],
    [{ field: "utm_medium", operator: "empty", filter: "" }, everyone],
    [{ field: "utm_source", operator: "!empty", filter: "" }, ["kim"]],
  ];
  for (const [filter, names] of cases) assert.deepEqual(await found(filter), names, JSON.stringify(filter));
  everyone.pop();
});

describe("refused, with the reason, before anything is stored", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  const cases: [why: string, filters: unknown][] = [
    ["an unknown field", [{ field: "shoe_colour", operator: "=", filter: 1 }]],
    ["a field of nobody", [{ field: "constructor", operator: "=", filter: 1 }]],
    ["SQL as a field", [{ field: "city = '' or 1=1 --", operator: "=", filter: 1 }]],
    ["an unknown object", [{ field: "city", object: "user", operator: "=", filter: 1 }]],
    ["an unknown operator", [{ field: "city", operator: "~", filter: 1 }]],
    ["an operator of every object", [{ field: "city", operator: "constructor", filter: 1 }]],
    ["SQL as an operator", [{ field: "city", operator: "= '' or", filter: 1 }]],
    ["an operator that the type has not", [{ field: "city", operator: "gt", filter: 1 }]],
    ["like of a switch", [{ field: "vip", operator: "like", filter: 1 }]],
    ["an unknown glue", [{ glue: "xor", field: "city", operator: "=", filter: 1 }]],
    ["text as a number", [{ field: "shoe_size", operator: "gt", filter: "large" }]],
    ["text as a switch", [{ field: "vip", operator: "=", filter: "maybe" }]],
    ["text as a date", [{ field: "born", operator: "=", filter: "whenever" }]],
    ["a day that is not", [{ field: "born", operator: "=", filter: "2024-02-31" }]],
    ["a date beyond all years", [{ field: "born", operator: "gt", filter: "+99999 years" }]],
    ["one value of two", [{ field: "born", operator: "between", filter: ["2024-01-01"] }]],
    ["no value of a list", [{ field: "city", operator: "in", filter: [] }]],
    ["no value at all", [{ field: "city", operator: "=" }]],
    ["an empty value", [{ field: "city", operator: "!=", filter: "" }]],
    ["an unknown type", [{ field: "city", type: "poem", operator: "=", filter: "Rome" }]],
    ["a date of which nobody knows the month", [{ field: "born", operator: "=", filter: "01-05-1990" }]],
    ["objects as values", [{ field: "city", operator: "in", filter: [{ a: 1 }] }]],
    ["nested lists", [{ field: "city", operator: "in", filter: nested(50) }]],
    ["a text as an id", [{ field: "tags", operator: "in", filter: ["gold"] }]],
    ["an unknown segment", [{ field: "leadlist", operator: "in", filter: [2_000_000] }]],
    ["a dangerous regular expression", [{ field: "city", operator: "regexp", filter: "^(a+)\\1$" }]],
    ["a broken regular expression", [{ field: "city", operator: "regexp", filter: "(" }]],
    ["too many filters", Array.from({ length: 101 }, () => ({ field: "city", operator: "=", filter: "a" }))],
    ["too many values", [{ field: "city", operator: "in", filter: Array.from({ length: 1_001 }, String) }]],
    ["too long a value", [{ field: "city", operator: "=", filter: "x".repeat(1_001) }]],
    ["what no database can store", [{ field: "city", operator: "=", filter: "a\u0000b" }]],
    ["half a character", [{ field: "city", operator: "=", filter: "\ud800" }]],
    ["a text", "all of them"],
    ["a list of texts", ["city"]],
    ["a filter without a field", [{ operator: "=", filter: 1 }]],
  ];
  for (const [why, filters] of cases) {
    test(why, async () => {
      const name = `Refused ${why}`;
      const segment = create(SegmentSchema, { name, filters: json(filters) });
      const request = { $typeName: "tidings.contact.v1.CreateSegmentRequest" as const, segment };
      await assert.rejects(
        async () => scene.segments.createSegment(request, listCall()),
        (error) => {
          assert.ok(error instanceof Fault && error.code === Code.INVALID_ARGUMENT, String(error));
          assert.deepEqual(
            error.violations.map(({ field }) => field),
            ["filters"],
          );
          return true;
        },
      );
      assert.deepEqual(await scene.query("select id from segments where name = $1", [name]), []);
    });
  }
});

test("whatever a text holds, it is only compared", async () => {
  for (const filter of ["'; drop table contacts; --", "$1", "\\", "%_\\%", "é\u{1f600}", "{{x}}", "null"]) {
    for (const operator of ["=", "like", "startsWith", "contains", "in"])
      assert.deepEqual(await found({ field: "city", operator, filter }), [], `${operator} ${filter}`);
  }
});

test("sixty-six lists of a thousand numbers, dates and texts are as many parameters", async () => {
  const lists = {
    shoe_size: Array.from({ length: 1_000 }, (_, index) => (index === 999 ? 42 : index + 1_000)),
    born: Array.from({ length: 1_000 }, (_, index) => (index === 999 ? "1990-02-28" : `@${index}`)),
    city: Array.from({ length: 1_000 }, (_, index) => (index === 999 ? "Rome" : `Town ${index}`)),
  };
  const filters = Array.from({ length: 66 }, (_, index) => {
    const [field, filter] = Object.entries(lists)[index % 3] ?? [];
    return { glue: "or", field, operator: "=", filter };
  });
  assert.deepEqual(await found(...filters), ["bob", "cleo"]);
});

test("dates are named in every form that bodies take", async () => {
  for (const filter of [
    "2024-05-01 10:30:00",
    "2024-05-01T12:30:00+02:00",
    "@1714559400",
    "Wed, 01 May 2024 10:30:00 +0000",
  ])
    assert.deepEqual(await found({ field: "seen", operator: "=", filter }), ["dan"], filter);
});

test("two filters of a thousand values and a hundred filters are answered at once", async () => {
  const values = Array.from({ length: 1_000 }, (_, index) => `Town ${index}`);
  const filters = Array.from({ length: 100 }, (_, index) => ({
    glue: index % 3 === 0 ? "or" : "and",
    field: "city",
    operator: index % 2 === 0 ? "in" : "regexp",
    filter: index % 2 === 0 ? values : `^(a|b){1,${index}}c`,
  }));
  assert.deepEqual(await found(...filters), []);
});
