import { BAITS } from "./baits.ts";
import { filled, numbered } from "./dear-content.ts";
import type { RawRequest } from "./raw-http.ts";

/** Requests of visitors, as large as they may be and of the shapes that cost most to read. */
export interface DearInput {
  name: string;
  request: RawRequest;
}

const KILOBYTE = 1_024;
const MEGABYTE = 1_024 * KILOBYTE;
const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";
const MULTIPART = "multipart/form-data; boundary=x";
/** In one header or address: the gateway takes 16 kB of all. */
const HEAD = 14 * KILOBYTE;
/** The key of callbacks in the tests. */
export const CALLBACK_KEY = "generic-secret-0123";

const part = (header: string) => `--x\r\ncontent-disposition: form-data; ${header}\r\n\r\n1\r\n`;

function bodies(bytes: number): Record<string, [type: string, body: string]> {
  const fields = numbered(10_000, (index) => `svcform[f${index}]=${index}`).join("&");
  const members = numbered(Math.floor(bytes / 14), (index) => `"k${index}":1`).join(",");
  return {
    "10,000 fields": [FORM, fields.slice(0, bytes)],
    "empty fields": [FORM, filled("&=", bytes)],
    "one name many times": [FORM, filled("svcform[a][]=1&", bytes)],
    "a nested name": [FORM, `a${filled("[a]", bytes - 10)}=1`],
    "many nested names": [FORM, filled("a[b][c][d][e][f]=1&", bytes)],
    "percent signs": [FORM, `page_url=${filled("%", bytes - 20)}`],
    "encoded characters": [FORM, `page_url=${filled("%25", bytes - 20)}`],
    "invalid UTF-8": [FORM, `page_title=${filled("%ff", bytes - 20)}`],
    "open lists in lists": [JSON_TYPE, filled("[", bytes)],
    "lists in lists": [JSON_TYPE, filled("[", bytes / 2) + filled("]", bytes / 2)],
    "objects in objects": [JSON_TYPE, filled('{"a":', bytes - 10)],
    "members of JSON": [JSON_TYPE, `{${members}}`],
    "numbers of JSON": [JSON_TYPE, `[${filled("0,", bytes - 3)}0]`],
    "escapes of JSON": [JSON_TYPE, `{"page_url":"${filled("\\u0041", bytes - 20)}"}`],
    parts: [MULTIPART, `${filled(part('name="svcform[a]"'), bytes - 10)}--x--\r\n`],
    "parts with files": [
      MULTIPART,
      `${filled(part('name="svcform[a]"; filename="a.png"'), bytes - 10)}--x--\r\n`,
    ],
    boundaries: [MULTIPART, filled("\r\n--x", bytes)],
    "headers of a part": [MULTIPART, `--x\r\n${filled("a: b\r\n", bytes - 20)}`],
    "a header of a part": [MULTIPART, part(filled('a="\\', bytes - 60))],
  };
}

const TEXTS = [...BAITS, "{contactfield=", "(a+)+", "\u202e", "a,", "1-", "a=1;"];

const POSTED: [path: string, bytes: number][] = [
  ["/form/submit?formId=1", 4 * MEGABYTE],
  ["/form/submit/ajax?formId=1", 4 * MEGABYTE],
  ["/form/company-lookup/autocomplete", MEGABYTE],
  ["/mtc/event", 64 * KILOBYTE],
  ["/video/hit", 64 * KILOBYTE],
  ["/focus/event", 64 * KILOBYTE],
  ["/email/preferences/x", MEGABYTE],
  ["/email/unsubscribe/x", MEGABYTE],
  ["/mailer/callback/generic", MEGABYTE],
  ["/mailer/callback", MEGABYTE],
  ["/sms/callback", MEGABYTE],
  ["/notification/x", MEGABYTE],
];

const ID = "0123456789012345678901234";
const GOTTEN =
  `/robots.txt /media/a /form/1 /form/message /form/generate.js /form/embed/1 /form/preview/1 /page/preview/1
  /asset/1:a /dwc/top /r/${ID} /redirect/${ID} /mtc.js /mtc /mtc/event /mtracking.gif /focus/1.js /email/preview/1
  /email/view/x /email/x.gif /email/unsubscribe/x /email/preferences/x /sms/x /notification/x /attacked /`.split(
    /\s+/,
  );

/** The packed form of parameters: base64 of JSON, or of the older serialised map. */
const PACKED = {
  "lists in lists": filled("[", 9_000),
  members: `{${numbered(800, (index) => `"k${index}":1`).join(",")}}`,
  "a serialised map": `a:999:{${numbered(800, (index) => `i:${index};i:1;`).join("")}}`,
  "serialised maps in maps": filled('a:1:{s:1:"a";', 9_000),
  "a text that is shorter than it says": `a:9999:{s:999999:"${filled("a", 9_000)}`,
};

const HEADERS: Record<string, Record<string, string>> = {
  cookies: { cookie: filled("svc_a=1; ", HEAD) },
  "an agent of brackets": { "user-agent": filled("Mozilla/5.0 (", HEAD) },
  "an agent of names": { "user-agent": filled("a/1 ", HEAD) },
  "an agent of blanks": { "user-agent": `${filled(" ", HEAD / 2)}a${filled("; ", HEAD / 2)}b` },
  languages: { "accept-language": filled("a-b;q=0.1,", HEAD) },
  types: { accept: filled("a/b;q=0.1,", HEAD) },
  ranges: { range: `bytes=${filled("0-1,", HEAD)}` },
  tags: { "if-none-match": filled('"a", ', HEAD) },
  "a referer": { referer: `https://a.example/?${filled("a=1&", HEAD)}` },
  origins: { origin: filled("https://a.", HEAD) },
};

function postsTo(path: string, bytes: number): DearInput[] {
  const key: Record<string, string> = path.endsWith("/generic")
    ? { authorization: `Bearer ${CALLBACK_KEY}` }
    : {};
  const post = (name: string, type: string, body: string): DearInput => ({
    name: `${name} in POST ${path}`,
    request: { method: "POST", path, headers: { "content-type": type, ...key }, body },
  });
  const members = ["svcform[first]", "svcform[site]", "page_url", "search", "tags"];
  return [
    ...Object.entries(bodies(bytes)).map(([name, [type, body]]) => post(name, type, body)),
    ...TEXTS.map((bait) => {
      const text = filled(bait, Math.min(bytes, 200 * KILOBYTE) / 20);
      return post(
        `texts of ${bait}`,
        FORM,
        new URLSearchParams(Object.fromEntries(members.map((name) => [name, text]))).toString(),
      );
    }),
  ];
}

function getsOf(path: string): DearInput[] {
  const get = (name: string, query: string, headers: Record<string, string> = {}): DearInput => ({
    name: `${name} in GET ${path}`,
    request: { method: "GET", path: query === "" ? path : `${path}?${query}`, headers },
  });
  const members = ["page_url", "d", "ct", "preview"];
  return [
    get("parameters", filled("a[b]=1&", HEAD)),
    ...TEXTS.map((bait) =>
      get(
        `texts of ${bait}`,
        new URLSearchParams(
          Object.fromEntries(members.map((name) => [name, filled(bait, 1_000)])),
        ).toString(),
      ),
    ),
    ...Object.entries(HEADERS).map(([name, headers]) => get(name, "", headers)),
  ];
}

const plain = (name: string, path: string): DearInput => ({ name, request: { method: "GET", path } });

export const DEAR_INPUTS: DearInput[] = [
  ...POSTED.flatMap(([path, bytes]) => postsTo(path, bytes)),
  ...GOTTEN.flatMap(getsOf),
  ...Object.entries(PACKED).map(([name, text]) =>
    plain(`${name} in d`, `/mtracking.gif?d=${Buffer.from(text).toString("base64url")}`),
  ),
  plain("a path of slashes", filled("/", HEAD)),
  plain("a path of segments", filled("/a", HEAD)),
  plain("a path of percent signs", `/${filled("%25", HEAD)}`),
  plain("a file above all folders", `/media/${filled("../", HEAD)}`),
  plain("an asset of colons", `/asset/${filled(":", HEAD)}`),
];
