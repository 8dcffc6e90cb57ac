import type { Database } from "@tidings/database/database";
import { queryable } from "@tidings/database/database";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { isNothing, jsonOf, notValid } from "@tidings/resource/json-member";
import type { FindVisible } from "@tidings/resource/needs";
import type { Call } from "@tidings/rpc/call";
import { invalid } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import { attachableAssets, attachmentProblem } from "../asset/attachable.ts";

const ATTACHMENTS_MAX = 100;
const FIELD = "assetAttachments";

/** The assets that a caller attaches in place of those of the email; undefined where nothing is said. Throws INVALID_ARGUMENT for any that no mail can have. */
export async function readAttachments(
  json: Uint8Array,
  { database, findVisible }: { database: Database; findVisible: FindVisible },
  call: Call,
): Promise<number[] | undefined> {
  const sent = jsonOf(json);
  if (isNothing(sent)) return undefined;
  const ids = Array.isArray(sent) ? sent.map((id) => Number(textOf(id))) : [];
  if (
    !Array.isArray(sent) ||
    ids.length > ATTACHMENTS_MAX ||
    !ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 31)
  )
    throw invalid([notValid(FIELD, `It is a list of at most ${ATTACHMENTS_MAX} ids of assets.`)]);
  const visible = await findVisible(AssetSchema, ids, call);
  const missing = ids.find((id) => !visible.has(id));
  if (missing !== undefined) throw invalid([notValid(FIELD, `There is no asset ${missing}.`)]);
  const problem = attachmentProblem(await attachableAssets(queryable(database, call.deadlineMs), ids));
  if (problem) throw invalid([notValid(FIELD, problem)]);
  return ids;
}
