import { type Click, sourceOf } from "../visit/click.ts";
import { newFactId } from "../visit/hit.ts";
import { utmOf } from "../visit/page-hit.ts";
import type { Parameters } from "../visit/parameters.ts";
import type { Visit } from "../visit/visit.ts";
import type { VisitFact } from "../visit/visit-fact.ts";

/** A visitor got an asset, or was refused. */
export interface Download extends VisitFact {
  assetId: number;
  /** The file was sent, its remote address was given, or the asset is not published. */
  code: 200 | 302 | 401;
}

export interface DownloadContext {
  assetId: number;
  code: Download["code"];
  visit: Visit;
  parameters: Parameters;
  click: Click | undefined;
  /** The address of the asset, as it was asked for. */
  url: string;
}

export function newDownload({ assetId, code, visit, parameters, click, url }: DownloadContext): Download {
  const query = Object.fromEntries([...parameters].filter(([name]) => name !== "ct"));
  return {
    ...newFactId(),
    ...visit,
    ...sourceOf(click),
    ...{ assetId, code, url, query, utm: utmOf(query) },
    ...{ remoteHost: "", timeZone: "", locale: "" },
  };
}
