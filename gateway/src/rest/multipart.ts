import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { badRequest } from "@tidings/rpc/fault";
import { multipartBoundary } from "@tidings/runtime/multipart-boundary";

const PARTS_MAX = 2_000;
const TOO_MANY = `A form may have ${PARTS_MAX} fields.`;
const NAME_BYTES_MAX = 1_000;

/** The fields of a multipart/form-data body (RFC 7578) as a urlencoded form, which is then read like any other. */
export function multipartFields(contentType: string, bytes: Buffer): Promise<string> {
  const fields = new URLSearchParams();
  return new Promise((resolve, reject) => {
    const refuse = (message: string) => reject(badRequest(message));
    const boundary = multipartBoundary(contentType);
    if (!boundary) return refuse("The content type names no boundary.");
    if (boundary.count(bytes) > PARTS_MAX) return refuse(TOO_MANY);
    const parser = openParser(boundary.contentType, bytes.length);
    parser.on("field", (name, value) => fields.append(name, value));
    parser.on("file", (name, file) => {
      file.resume();
      refuse(`"${name.slice(0, 100)}" is a file: none can be sent here.`);
    });
    for (const limit of ["partsLimit", "fieldsLimit"] as const) parser.on(limit, () => refuse(TOO_MANY));
    parser.on("error", () => refuse("The body is not valid multipart/form-data."));
    parser.on("finish", () => resolve(fields.toString()));
    parser.end(bytes);
  });
}

function openParser(contentType: string, fieldSize: number): BusboyInstance {
  return new Busboy({
    headers: { "content-type": contentType },
    limits: { parts: PARTS_MAX, fields: PARTS_MAX, fieldSize, fieldNameSize: NAME_BYTES_MAX },
  });
}
