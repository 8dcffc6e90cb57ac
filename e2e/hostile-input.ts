import fc from "fast-check";

type Text = fc.Arbitrary<string>;

export const hostileText: Text = fc.oneof(
  fc.constantFrom(
    "",
    "\0",
    "\ud800",
    "'; drop table contacts; --",
    "' or 1=1 --",
    "1 union select null",
    "%",
    "\\",
    "%_\\",
    "__proto__",
    "constructor",
    "1e400",
    "-0",
    "9007199254740993",
    "2147483648",
    "-2147483649",
    "NaN",
    "Infinity",
    "0x10",
    "true",
    "null",
    "[]",
    "{}",
    "2024-13-45",
    "9999-12-31T23:59:59Z",
    "-271821-04-20",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "\u202e\ufeff\u0000",
    "((((((((((",
    'cmd:!+("',
    "ids:1,2,x",
    "email:!+%",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ maxLength: 300 }),
);

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.jsonValue({ maxDepth: 4 }),
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom(null, true, [], {}, [[]], { a: { b: { c: {} } } }),
  fc.array(hostileText, { maxLength: 5 }),
);

/** Members of our resources, and names that every object has. */
export const MEMBERS = [
  "id",
  "email",
  "firstname",
  "points",
  "lastActive",
  "tags",
  "owner",
  "stage",
  "ipAddress",
  "doNotContact",
  "frequencyRules",
  "country",
  "attribution",
  "attribution_date",
  "overwriteWithBlank",
  "isPublished",
  "name",
  "webhookUrl",
  "secret",
  "triggers",
  "eventsOrderbyDir",
  "description",
  "category",
  "tag",
  "dateAdded",
  "fields",
  "values",
  "version",
  "__proto__",
  "constructor",
  "toString",
  "_method",
];
const memberName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...MEMBERS) },
  { weight: 1, arbitrary: hostileText },
);

/** An object with the members of our resources, as entries: `__proto__` is a name like any other on the wire. */
const objectText: Text = fc
  .array(fc.tuple(memberName, hostileValue), { maxLength: 8 })
  .map(
    (entries) => `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${json(value)}`).join(",")}}`,
  );

const brokenText: Text = fc.oneof(
  fc.integer({ min: 1, max: 20_000 }).map((depth) => "[".repeat(depth)),
  fc.integer({ min: 1, max: 20_000 }).map((depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`),
  fc.constantFrom(
    "",
    "{",
    "nul",
    '{"points":1e400}',
    '{"a":"\\ud800"}',
    '{"a":"\\u0000"}',
    "\ufeff{}",
    "[null]",
    "[[]]",
  ),
  fc.string({ maxLength: 50 }),
);

const listText: Text = fc.array(objectText, { maxLength: 5 }).map((items) => `[${items.join(",")}]`);
const numberedText: Text = fc
  .array(fc.tuple(hostileText, objectText), { maxLength: 4 })
  .map((items) => `{${items.map(([key, item]) => `${JSON.stringify(key)}:${item}`).join(",")}}`);

const formText: Text = fc
  .array(
    fc.tuple(
      memberName,
      fc.constantFrom("", "[]", "[0]", "[a][b]", "[][]", "[[", "]", "[__proto__]"),
      hostileText,
    ),
  )
  .map((entries) =>
    entries.map(([name, brackets, value]) => `${quoted(name)}${brackets}=${quoted(value)}`).join("&"),
  );

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const typed = (type: string, text: Text) => text.map((body) => ({ type, body: Buffer.from(body) }));

/** A body and the content type it claims to have. */
export const hostileBody: fc.Arbitrary<{ type: string; body: Buffer }> = fc.oneof(
  { weight: 6, arbitrary: typed(JSON_TYPE, objectText) },
  { weight: 3, arbitrary: typed(JSON_TYPE, fc.oneof(listText, numberedText)) },
  { weight: 2, arbitrary: typed(JSON_TYPE, brokenText) },
  { weight: 2, arbitrary: typed(FORM_TYPE, formText) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 50 })
      .map((bytes) => ({ type: JSON_TYPE, body: Buffer.from(bytes) })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom(
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "a",
        "",
      ),
      body: fc.oneof(objectText, formText).map((text) => Buffer.from(text)),
    }),
  },
);

const PARAMETERS = [
  "search",
  "start",
  "limit",
  "orderBy",
  "orderByDir",
  "published",
  "publishedOnly",
  "minimal",
  "select[]",
  "select",
  "order[0][col]",
  "order[0][dir]",
  "order[]",
  "where[0][col]",
  "where[0][expr]",
  "where[0][val]",
  "where[0][val][]",
  "where[0][val][0][col]",
  "where[0][internal]",
  "where[1][column]",
  "where[1][expr]",
  "where[1][value]",
  "where",
  "ids",
  "ids[]",
  "0",
  "_method",
  "__proto__[a]",
  "constructor[prototype]",
];
const COLUMNS = [
  "id",
  "email",
  "points",
  "date_added",
  "isPublished",
  "name",
  "triggers",
  "secret",
  "tag",
  "no_such",
];
const EXPRESSIONS = [
  "eq",
  "neq",
  "gt",
  "lte",
  "like",
  "in",
  "notIn",
  "between",
  "isNull",
  "isEmpty",
  "andX",
  "orX",
];
const usefulText = fc.constantFrom(
  ...COLUMNS,
  ...EXPRESSIONS,
  "asc",
  "1",
  "0",
  "1,2",
  "true",
  "10000",
  "10001",
);
const parameter = fc
  .tuple(fc.oneof(fc.constantFrom(...PARAMETERS), hostileText), fc.oneof(usefulText, hostileText))
  .map(([name, value]) => `${quoted(name)}=${quoted(value)}`);
const brokenQuery = fc.constantFrom(
  "%",
  "%zz",
  "a=%ff",
  "&&&=&",
  "a[b[c]=1",
  "where[",
  "%00",
  "a%5b%5d=%c0%80",
  "?".repeat(50),
);

/** Query strings. */
export const hostileQuery: Text = fc.oneof(
  { weight: 1, arbitrary: fc.constant("") },
  { weight: 8, arbitrary: fc.array(parameter, { maxLength: 6 }).map((parameters) => parameters.join("&")) },
  { weight: 1, arbitrary: brokenQuery },
);

/** A segment of a path: most often an id that may exist, else anything that fits between two slashes. */
export const hostileSegment: Text = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 12 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "0",
      "-1",
      "2147483648",
      "1e3",
      "01",
      "%00",
      "..%2f1",
      "%zz",
      "%ff",
      "1;a=b",
      "1%20",
      "__proto__",
      "constructor",
    ),
  },
  { weight: 1, arbitrary: hostileText.map((text) => quoted(text) || "-") },
);

/** JSON of a value, of numbers too that have no place in it. */
function json(value: unknown): string {
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "null");
}

/** Percent-encoded; half a character becomes the bytes it would have. */
function quoted(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : "%ED%A0%80";
}
