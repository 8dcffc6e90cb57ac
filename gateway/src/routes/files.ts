import { FileService } from "@tidings/proto/tidings/content/v1/file";
import { jsonAnswer, SUCCESS, textAnswer } from "../route/answer.ts";
import { UPLOAD } from "../route/body-form.ts";
import { word } from "../route/parameter.ts";
import { textQuery } from "../route/query-form.ts";
import { type Route, route } from "../route/route.ts";
import { arrayOf, closed, TEXT } from "../route/schema.ts";
import type { RoutesContext } from "./routes-context.ts";

/** Older clients know a listing that begins with the directory itself and the one above it. */
const FIRST_KEY = 2;
const directory = word("`images` or `assets`");
const FILE = closed({ link: TEXT, name: TEXT }, ["link"]);
/** There is no such directory, or the file is none of those that are taken there. */
const errors = [406];

/** Uploaded files, by directory. */
export function fileRoutes({ clients, transfer }: RoutesContext): Route[] {
  const files = clients.of(FileService);
  const rpc = FileService.method;
  return [
    route({
      method: "GET",
      path: "/files/:directory",
      summary: "List the files of a directory",
      rpc: rpc.listFiles,
      parameters: { directory },
      errors,
      query: textQuery("subdir", "A directory within it"),
      answer: jsonAnswer(
        closed({
          files: {
            oneOf: [
              { ...arrayOf({}), maxItems: 0 },
              { type: "object", additionalProperties: TEXT },
            ],
          },
        }),
      ),
      async handle({ parameters: named, query: subdirectory, options }) {
        const { names } = await files.listFiles({ ...named, subdirectory }, options);
        const byKey = Object.fromEntries(names.map((name, index) => [index + FIRST_KEY, name]));
        return { files: names.length > 0 ? byKey : [] };
      },
    }),
    route({
      method: "POST",
      path: "/files/:directory/new",
      summary: "Upload a file",
      operation: "uploadFile",
      right: { base: "asset:assets", verb: "create", orElse: "another to create what uses it" },
      parameters: { directory },
      errors,
      body: UPLOAD,
      answer: textAnswer(() => closed({ file: FILE })),
      async handle({ parameters: named, request, exchange }) {
        const path = `files/${encodeURIComponent(named.directory)}`;
        return `{"file":${await transfer.upload(request, exchange, path)}}`;
      },
    }),
    route({
      method: "DELETE",
      path: "/files/:directory/:file/delete",
      summary: "Delete a file",
      rpc: rpc.deleteFile,
      parameters: { directory, file: word("Name of the file") },
      errors,
      answer: SUCCESS,
      handle: ({ parameters: { directory, file }, options }) =>
        files.deleteFile({ directory, name: file }, options),
    }),
  ];
}
