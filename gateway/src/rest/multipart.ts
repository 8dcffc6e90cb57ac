import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { badRequest } from "@tidings/rpc/fault";

const PARTS_MAX = 2_000;
const NAME_BYTES_MAX = 1_000;

/** The fields of a multipart/form-data body (RFC 7578) as a urlencoded form, which is then read like any other. */
export function multipartFields(contentType: string, bytes: Buffer): Promise<string> {
  const fields = new URLSearchParams();
  return new Promise((resolve, reject) => {
    const refuse = (message: string) => reject(badRequest(message));
    const parser = openParser(contentType, bytes.length);
    parser.on("field", (name, value) => fields.append(name, value));
    parser.on("file", (name, file) => {
      file.resume();
      refuse(`"${name.slice(0, 100)}" is a file: none can be sent here.`);
    });
    for (const limit of ["partsLimit", "fieldsLimit"] as const)
      parser.on(limit, () => refuse(`A form may have ${PARTS_MAX} fields.`));
    parser.on("error", () => refuse("The body is not valid multipart/form-data."));
    parser.on("finish", () => resolve(fields.toString()));
    parser.end(bytes);
  });
}

function openParser(contentType: string, fieldSize: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      limits: { parts: PARTS_MAX, fields: PARTS_MAX, fieldSize, fieldNameSize: NAME_BYTES_MAX },
    });
  } catch {
    throw badRequest("The content type names no boundary.");
  }
}
