import type { VisitFact } from "../visit/visit-fact.ts";

/** A visitor got an asset, or was refused. */
export interface Download extends VisitFact {
  assetId: number;
  /** The file was sent, its remote address was given, or the asset is not published. */
  code: 200 | 302 | 401;
}
