import { type Asset, AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { notValid } from "@tidings/resource/json-member";
import { repository } from "@tidings/resource/repository";
import type { Changed, Repository, ResourceContext } from "@tidings/resource/repository-options";
import type { Violation } from "@tidings/rpc/fault";
import { forgetAssets } from "../family/forget.ts";
import { isWebAddress } from "../family/web-address.ts";
import { extensionOf, mimeOf } from "../file/kind.ts";
import { assetAddress } from "./asset-address.ts";
import { type ClaimableFile, claimableFiles, resolveFiles } from "./claim.ts";
import { addMeasuring } from "./measure.ts";

/** `publicUrl` is where people find what is published. */
export function assets(context: ResourceContext, publicUrl: string): Repository<Asset> {
  return repository<Asset, Map<string, ClaimableFile>>(context, AssetSchema, {
    load: (transaction, call, messages) =>
      claimableFiles(
        transaction,
        messages.flatMap((message) => message?.file ?? []),
        call,
      ),
    clean(draft, before) {
      // A replacement that names no file keeps the one there is.
      if (before && !draft.file)
        Object.assign(draft, { file: before.file, storageLocation: before.storageLocation });
    },
    prepare: (draft, { before, loaded }) =>
      isSameFile(draft, before) ? [] : isRemote(draft) ? resolveRemote(draft) : resolveLocal(draft, loaded),
    async changed(transaction, changes) {
      await resolveFiles(transaction, changes);
      forgetAssets(
        transaction,
        idsOf(changes, ({ after }) => !after),
      );
      addMeasuring(
        transaction,
        changes.flatMap(({ before, after }) =>
          after && isRemote(after) && !isSameFile(after, before) ? [after] : [],
        ),
      );
    },
    async show(items) {
      for (const item of items) item.downloadUrl = assetAddress(item, publicUrl);
    },
  });
}

function isRemote({ storageLocation }: Asset): boolean {
  return storageLocation === "remote";
}

function isSameFile(asset: Asset, before: Asset | undefined): boolean {
  return before !== undefined && asset.file === before.file && isRemote(asset) === isRemote(before);
}

/** Properties of a remote file by its name, before its server is asked. */
function resolveRemote(draft: Asset): Violation[] {
  if (!draft.file) return [];
  if (!isWebAddress(draft.file)) return [notValid("remotePath", "The remote should be a valid URL.")];
  const extension = extensionOf(new URL(draft.file).pathname.split("/").at(-1) ?? "");
  Object.assign(draft, { extension, mime: extension && mimeOf(extension), size: undefined });
  return [];
}

function resolveLocal(draft: Asset, files: Map<string, ClaimableFile>): Violation[] {
  // Another location does not exist, which is a violation already.
  if (!draft.file || draft.storageLocation !== "local") return [];
  const file = files.get(draft.file);
  if (!file)
    return [notValid("file", `File ${draft.file.slice(0, 100)} was not found in the asset directory.`)];
  // It is one asset's, in this write too.
  files.delete(draft.file);
  Object.assign(draft, file);
  return [];
}

function idsOf(changes: Changed<Asset>[], isMeant: (change: Changed<Asset>) => boolean): number[] {
  return changes.filter(isMeant).map(({ before, after }) => (after ?? before)?.id ?? 0);
}
