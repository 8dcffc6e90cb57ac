/** Column names that want to be SQL. */
export const IDENTIFIERS = [
  "id;select 1",
  "id desc,(select pg_sleep(5))",
  "(case when 1=1 then id else points end)",
  "password",
  "u.password_hash",
  "random()",
  '"id"',
  "id--",
  "id/**/desc",
  "__proto__",
  "constructor",
  "ＩＤ",
  "x".repeat(300),
];

export const DIRECTIONS = ["asc,", "desc nulls last", "ASC/**/", "sideways"];

/** `where` clauses that must be refused. */
export const CLAUSES = [
  "where[0][col]=id)%20or%201=1--&where[0][expr]=eq&where[0][val]=1",
  "where[0][col]=id&where[0][expr]=formula&where[0][val]=1=1",
  "where[0][col]=id&where[0][expr]=__proto__&where[0][val]=1",
  "where[0][col]=id&where[0][expr]=constructor&where[0][val]=1",
  "where[0][col]=id&where[0][expr]=eq&where[0][val]=1%20or%201=1",
  "where[0][col]=id&where[0][expr]=in&where[0][val]=1,2);--",
  "where[0][col]=id&where[0][expr]=between&where[0][val]=1",
  "where[0][col]=dateAdded&where[0][expr]=gt&where[0][val]=yesterday'",
  `where[0][expr]=andX${[1, 2, 3, 4, 5].map((depth) => `&where[0]${"[val][0]".repeat(depth)}[expr]=andX`).join("")}`,
];

/** Texts to search for that find nothing, do nothing, and are no error. */
export const SEARCHES = [
  "' or '1'='1",
  "'; select pg_sleep(5); --",
  "$1",
  "%".repeat(200),
  "\\",
  "_\\",
  "ids:1,2);--",
  "email:'||(select 1)||'",
  '"',
  "(((((",
  ")",
  "!+!+",
  "is:constructor",
  "is:__proto__",
  "constructor:x",
  "__proto__:x",
];

/** Bodies for a create, each refused with 400. */
export const BODIES: Record<string, string | Buffer> = {
  "nested ten thousand deep": `{"firstname":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
  "more members than anybody sends": `{${Array.from({ length: 2_001 }, (_, index) => `"m${index}":1`).join(",")}}`,
  "a number beyond all numbers": '{"points":1e400}',
  "a number beyond an integer": '{"points":9007199254740993}',
  NUL: '{"firstname":"a\\u0000b"}',
  "half a character": '{"firstname":"\\ud800"}',
  "bytes that are no UTF-8": Buffer.from([
    ...Buffer.from('{"firstname":"'),
    0xff,
    0xfe,
    ...Buffer.from('"}'),
  ]),
  "UTF-16": Buffer.from('{"firstname":"Ada"}', "utf16le"),
  "a list where an object belongs": '["firstname"]',
};

const END = "\r\n\r\n";
const HOST = "Host: localhost";

/** Requests that a proxy in front of us might read another way. Each is refused with 400, and its connection closed. */
export const FRAMINGS: Record<string, string> = {
  "both lengths": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked${END}0${END}`,
  "two lengths": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nContent-Length: 4\r\nContent-Length: 5${END}abcd`,
  "a length that is none": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nContent-Length: +4${END}abcd`,
  "a space before the colon": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nTransfer-Encoding : chunked${END}0${END}`,
  "an unknown transfer encoding": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nTransfer-Encoding: xchunked${END}0${END}`,
  "two transfer encodings": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nTransfer-Encoding: chunked, identity${END}0${END}`,
  "compressed chunks": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nTransfer-Encoding: gzip, chunked${END}0${END}`,
  "bare line feeds": `GET /api/contacts HTTP/1.1\nHost: localhost\n\n`,
  "a folded header": `GET /api/contacts HTTP/1.1\r\n${HOST}\r\nX-A: 1\r\n 2${END}`,
  "NUL in a header": `GET /api/contacts HTTP/1.1\r\n${HOST}\r\nX-A: \0${END}`,
  "no host": `GET /api/contacts HTTP/1.1${END}`,
  "a whole URL as target": `GET http://example.com/api/contacts HTTP/1.1\r\n${HOST}${END}`,
  "NUL in the path": `GET /api/contacts/%00 HTTP/1.1\r\n${HOST}${END}`,
  "a slash in an id": `GET /api/contacts/..%2f1 HTTP/1.1\r\n${HOST}${END}`,
  "two hosts": `GET /api/contacts HTTP/1.1\r\n${HOST}\r\nHost: example.com${END}`,
  "a dot segment": `GET /api/themes/.. HTTP/1.1\r\n${HOST}${END}`,
  "an encoded dot segment": `GET /api/files/%2e/new HTTP/1.1\r\n${HOST}${END}`,
  "a chunk size that is none": `POST /api/contacts/new HTTP/1.1\r\n${HOST}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked${END}zz\r\n{}\r\n0${END}`,
  "malformed percent-encoding": `GET /api/contacts/%zz HTTP/1.1\r\n${HOST}${END}`,
};

/** Headers that claim to come from inside. */
export const FORGED_HEADERS: Record<string, string>[] = [
  { "x-user-id": "1" },
  { "x-internal-user": "admin" },
  { "x-forwarded-for": "127.0.0.1", "x-forwarded-user": "admin" },
  { "x-actor": "admin", actor: "admin", "tidings-actor": "admin" },
  { "grpc-timeout": "1S", "grpc-encoding": "identity" },
  { connection: "x-user-id", "x-user-id": "1" },
];
