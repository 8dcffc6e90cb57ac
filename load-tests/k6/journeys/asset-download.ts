import { check } from "k6";
import http from "k6/http";
import type { Entity } from "../api.ts";
import { journey } from "../journey.ts";
import { LIST, VISIT, WRITE } from "../limits.ts";
import { removeVisitor, visitorId } from "../visitors.ts";

const LINE = "All there is to know.\n";
const LINES = 10_000;
const TEXT = LINE.repeat(LINES);

/** Somebody downloads a file, goes on with it after a break, and has it when they ask again. */
export const assetDownload = journey({
  perMinute: 30,
  endpoints: {
    "GET /asset/:name": VISIT,
    "GET /contacts": LIST,
    "DELETE /contacts/:id/delete": WRITE,
  },
  prepare(api, run) {
    const form = { file: http.file(TEXT, "guide.txt", "text/plain") };
    const path = { directory: "assets" };
    const { file } = api<{ file: { name: string } }>("POST /files/:directory/new", { path, form });
    const body = { title: `Guide ${run}`, isPublished: true, storageLocation: "local", file: file.name };
    const { asset } = api<{ asset: Entity & { downloadUrl: string } }>("POST /assets/new", {
      body,
      status: 201,
    });
    return { id: asset.id, name: asset.downloadUrl.split("/asset/")[1] ?? "" };
  },
  iterate(api, { name }) {
    const path = { name };
    let tag = "";
    const all = api<string>("GET /asset/:name", {
      path,
      heard: (headers) => {
        tag = headers.Etag ?? "";
      },
    });
    check(all, { "the file is whole": (text) => text.length === TEXT.length });
    const rest = api<string>("GET /asset/:name", {
      path,
      headers: { range: `bytes=${LINE.length}-` },
      status: 206,
    });
    check(rest, { "the rest of the file is whole": (text) => text.length === TEXT.length - LINE.length });
    api("GET /asset/:name", { path, headers: { "if-none-match": tag }, status: 304 });
    removeVisitor(api, visitorId());
  },
  remove(api, { id }) {
    api("DELETE /assets/:id/delete", { path: { id } });
  },
});
