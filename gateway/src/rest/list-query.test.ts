import assert from "node:assert/strict";
import { test } from "node:test";
import { toJson } from "@bufbuild/protobuf";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import { Code, Fault } from "@tidings/rpc/fault";
import { cursorsOf } from "./cursor.ts";
import { readListParameters, selection } from "./list-query.ts";
import { parseQuery } from "./query.ts";

const limits = { pageSize: 30, limitMax: 10_000, cursors: cursorsOf("test") };
const read = (text: string) => readListParameters(parseQuery(text), limits);
const jsonOf = (text: string) => toJson(ListQuerySchema, read(text).query) as Record<string, unknown>;

function refusalOf(text: string): string {
  try {
    read(text);
  } catch (error) {
    assert.ok(error instanceof Fault && error.code === Code.INVALID_ARGUMENT, String(error));
    return error.message;
  }
  return assert.fail(`${text} was accepted`);
}

test("without parameters it is the first page of the default size", () => {
  assert.deepEqual(jsonOf(""), { pageSize: 30 });
});

test("search, start, limit and the published switch are passed on", () => {
  const expected = { search: "is:mine a", skip: 60, pageSize: 5, publishedOnly: true };
  assert.deepEqual(jsonOf("search=is%3Amine+a&start=60&limit=5&publishedOnly=1"), expected);
  assert.equal(jsonOf("published=true").publishedOnly, true);
  assert.equal(jsonOf("publishedOnly=0").publishedOnly, undefined);
});

test("limit=0 asks for as much as there may be, and more than that is refused by name", () => {
  assert.equal(jsonOf("limit=0").pageSize, 10_000);
  assert.equal(jsonOf("limit=10000").pageSize, 10_000);
  assert.match(refusalOf("limit=10001"), /10000/);
});

test("an empty parameter is as good as none", () => {
  assert.deepEqual(jsonOf("limit=&start=&search=&orderBy=&where=&order=&select="), { pageSize: 30 });
});

for (const text of [
  "limit=-1",
  "limit=abc",
  "limit=1.5",
  "limit=1e3",
  "limit=99999999999999999999",
  "start=-1",
  "start=10000001",
]) {
  test(`${text} is a bad request`, () => assert.ok(refusalOf(text)));
}

for (const text of [
  "limit=5&limit=6",
  "start[]=1",
  "search[a]=b",
  "search=a&search=b",
  "orderBy[]=a",
  "orderByDir[]=asc",
  "where=abc",
  "where[0]=abc",
  "order=abc",
  "order[0]=abc",
  "where[0][col][]=a&where[0][expr]=eq",
]) {
  test(`the malformed ${text} is a bad request`, () => assert.ok(refusalOf(text)));
}

test("publishedOnly may be given once", () => assert.ok(refusalOf("publishedOnly=1&publishedOnly=1")));
test("a name to select must be text", () => assert.ok(refusalOf("select[0][a]=b")));

test("orderBy takes a comma list, one direction for all", () => {
  assert.deepEqual(jsonOf("orderBy=lastname,id&orderByDir=DESC").order, [
    { column: "lastname", descending: true },
    { column: "id", descending: true },
  ]);
});

test("blanks around the names of orderBy are not part of them", () => {
  assert.deepEqual(jsonOf("orderBy=lastname,%20id").order, [{ column: "lastname" }, { column: "id" }]);
});

test("an empty direction is the default one", () => {
  assert.deepEqual(jsonOf("orderBy=id&orderByDir=").order, [{ column: "id" }]);
});

test("order wins over orderBy, and has a direction for each column", () => {
  const text = "orderBy=id&order[0][col]=email&order[0][dir]=desc&order[1][col]=id";
  assert.deepEqual(jsonOf(text).order, [{ column: "email", descending: true }, { column: "id" }]);
});

for (const direction of ["asc,(select pg_sleep(5))", "desc nulls last", "ASC/**/", "1"]) {
  test(`the direction ${direction} is a bad request`, () => {
    assert.ok(refusalOf(`orderBy=id&orderByDir=${encodeURIComponent(direction)}`));
    assert.ok(refusalOf(`order[0][col]=id&order[0][dir]=${encodeURIComponent(direction)}`));
  });
}

test("an order without a column says so", () => {
  assert.match(refusalOf("order[0][dir]=asc"), /"col" is missing/);
});

test("col and column, val and value mean the same", () => {
  const where = [{ column: "email", expr: "eq", values: ["a"] }];
  assert.deepEqual(jsonOf("where[0][col]=email&where[0][expr]=eq&where[0][val]=a").where, where);
  assert.deepEqual(jsonOf("where[0][column]=email&where[0][expr]=eq&where[0][value]=a").where, where);
});

test("names of columns and expressions are passed on as sent: their owner knows them", () => {
  const [clause] = jsonOf("where[0][col]=no_such&where[0][expr]=formula&where[0][val]=1").where as object[];
  assert.deepEqual(clause, { column: "no_such", expr: "formula", values: ["1"] });
});

test("a clause without expr or col says which is missing", () => {
  assert.match(refusalOf("where[0][col]=a"), /"expr" is missing/);
  assert.match(refusalOf("where[0][expr]=eq&where[0][val]=a"), /"col" is missing/);
});

test("in takes a comma list in which quotes keep a comma, or a list in brackets", () => {
  const valuesOf = (value: string) =>
    (jsonOf(`where[0][col]=a&where[0][expr]=in&${value}`).where as { values: string[] }[])[0]?.values;
  assert.deepEqual(valuesOf("where[0][val]=1,2"), ["1", "2"]);
  assert.deepEqual(valuesOf(`where[0][val]=${encodeURIComponent('a,"b,c","d""e"')}`), ["a", "b,c", 'd"e']);
  assert.deepEqual(valuesOf("where[0][val][]=1&where[0][val][]=2"), ["1", "2"]);
});

test("quotes keep a comma after a blank too", () => {
  const value = encodeURIComponent('"a", "b,c"');
  const [clause] = jsonOf(`where[0][col]=a&where[0][expr]=in&where[0][val]=${value}`).where as {
    values: string[];
  }[];
  assert.deepEqual(clause?.values, ["a", "b,c"]);
});

test("in takes a thousand ids", () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => String(1_000_000 + index));
  const [clause] = jsonOf(`where[0][col]=id&where[0][expr]=in&where[0][val]=${ids.join(",")}`).where as {
    values: string[];
  }[];
  assert.deepEqual(clause?.values, ids);
});

test("groups nest", () => {
  const text =
    "where[0][expr]=orX&where[0][val][0][col]=a&where[0][val][0][expr]=eq&where[0][val][0][val]=1&where[0][val][1][col]=b&where[0][val][1][expr]=isNull";
  assert.deepEqual(jsonOf(text).where, [
    {
      expr: "orX",
      conditions: [
        { column: "a", expr: "eq", values: ["1"] },
        { column: "b", expr: "isNull" },
      ],
    },
  ]);
});

test("more than three levels of groups, or fifty clauses, are refused", () => {
  const nested = (depth: number) => {
    const prefix = `where[0]${"[val][0]".repeat(depth - 1)}`;
    const groups = Array.from(
      { length: depth - 1 },
      (_, index) => `where[0]${"[val][0]".repeat(index)}[expr]=andX`,
    );
    return [...groups, `${prefix}[col]=a`, `${prefix}[expr]=isNull`].join("&");
  };
  assert.equal((jsonOf(nested(5)).where as object[]).length, 1);
  assert.ok(refusalOf(nested(6)));
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => `where[${index}][col]=a&where[${index}][expr]=isNull`).join(
      "&",
    );
  assert.equal((jsonOf(many(50)).where as object[]).length, 50);
  assert.ok(refusalOf(many(51)));
});

test("a clause with an internal member is dropped at any depth", () => {
  assert.equal(jsonOf("where[0][internal]=1&where[0][col]=a&where[0][expr]=formula").where, undefined);
  const nested =
    "where[0][expr]=orX&where[0][val][0][internal]=0&where[0][val][0][expr]=formula&where[0][val][0][val]=1";
  assert.deepEqual(jsonOf(nested).where, [{ expr: "orX" }]);
});

test("select is a set of names, of all when it is absent", () => {
  assert.deepEqual(selection(parseQuery("select[]=id&select[]=fields")), new Set(["id", "fields"]));
  assert.equal(selection(parseQuery("")), undefined);
});
