/** The limit that a request to the public web counts against. */
export type PublicKind = "tracking" | "page" | "form" | "download" | "preview";

export interface PublicPath {
  /** Exact, or everything below it where it ends in a slash. */
  path: string;
  kind: PublicKind;
  /** HEAD goes with GET. */
  methods: ("GET" | "POST")[];
  /** Scripts on other sites may read the answers. */
  isShared?: true;
  /** Its callers prove by `Authorization` who they are, with secrets that are none of the API's. */
  takesCredentials?: true;
}

/** THE table of the paths that visitors have: the first one that fits decides. A page has its own alias besides. */
export const PUBLIC_PATHS: PublicPath[] = [
  { path: "/robots.txt", kind: "page", methods: ["GET"] },
  { path: "/media/", kind: "page", methods: ["GET"] },
  { path: "/form/submit/ajax", kind: "form", methods: ["POST"], isShared: true },
  { path: "/form/submit", kind: "form", methods: ["POST"] },
  { path: "/form/company-lookup/", kind: "form", methods: ["POST"] },
  { path: "/form/preview/", kind: "preview", methods: ["GET"] },
  { path: "/form/", kind: "page", methods: ["GET"] },
  { path: "/page/preview/", kind: "preview", methods: ["GET"] },
  { path: "/asset/", kind: "download", methods: ["GET"] },
  { path: "/dwc/", kind: "tracking", methods: ["GET"], isShared: true },
  { path: "/r/", kind: "page", methods: ["GET"] },
  { path: "/redirect/", kind: "page", methods: ["GET"] },
  { path: "/mtc.js", kind: "page", methods: ["GET"] },
  { path: "/mtc", kind: "tracking", methods: ["GET"], isShared: true },
  { path: "/mtc/event", kind: "tracking", methods: ["GET", "POST"], isShared: true },
  { path: "/mtracking.gif", kind: "tracking", methods: ["GET"] },
  { path: "/focus/event", kind: "tracking", methods: ["POST"] },
  { path: "/focus/", kind: "page", methods: ["GET"] },
  { path: "/video/hit", kind: "tracking", methods: ["POST"], isShared: true },
  { path: "/email/preview/", kind: "preview", methods: ["GET"] },
  { path: "/email/", kind: "page", methods: ["GET", "POST"] },
  { path: "/mailer/", kind: "page", methods: ["POST"], takesCredentials: true },
  { path: "/sms/", kind: "page", methods: ["GET", "POST"] },
  { path: "/notification/", kind: "tracking", methods: ["GET", "POST"], isShared: true },
];

/** The first words of the gateway's own paths. */
const OF_THE_GATEWAY = [
  "api",
  "oauth",
  "credentials",
  "authorisations",
  "password",
  "mail",
  "sign-out",
  "livez",
  "readyz",
  "metrics",
];

const TAKEN = new Set([...OF_THE_GATEWAY, ...PUBLIC_PATHS.map(({ path }) => path.split("/")[1] ?? "")]);

/** Pages: their alias, with category and language before it where they are addressed so. */
const PAGE: PublicPath = { path: "/", kind: "page", methods: ["GET"] };
const PAGE_SEGMENTS_MAX = 3;
const SEGMENT_LENGTH_MAX = 200;

/** The row of the table that a path belongs to; undefined for a path that is none of the public web's. */
export function publicPathOf(path: string): PublicPath | undefined {
  const known = PUBLIC_PATHS.find(
    (row) => path === row.path || (row.path.endsWith("/") && path.startsWith(row.path)),
  );
  if (known) return known;
  const segments = path.slice(1).split("/");
  const isPage =
    segments.length <= PAGE_SEGMENTS_MAX &&
    segments.every((segment) => segment.length <= SEGMENT_LENGTH_MAX) &&
    !isTakenWord(segments[0] ?? "");
  return isPage ? PAGE : undefined;
}

/** Is this the first word of a path that is no page's, whichever host it is asked of? */
export function isTakenWord(word: string): boolean {
  return TAKEN.has(word.toLowerCase());
}

const FORM_ID = /^[1-9]\d{0,9}$/;

/**
 * The form that the address of a submission names, by its id; undefined where it names none. Limits and forms are found by this one reader: what it
 * does not see counts for no form, and is sent to none.
 */
export function formNamedIn(url: string): string | undefined {
  const at = url.indexOf("?");
  const text = at < 0 ? "" : (new URLSearchParams(url.slice(at + 1)).get("formId") ?? "");
  return FORM_ID.test(text) ? text : undefined;
}
