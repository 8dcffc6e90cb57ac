import type { Keeping } from "@tidings/projection/projecting";
import type { FieldCatalogue } from "../field/catalogue.ts";
import type { BuildServices } from "../segment/build.ts";
import { withoutCulprits } from "../segment/culprits.ts";
import { type ContactChange, followChanges } from "../segment/follow.ts";
import { type Fact, facts } from "./facts.ts";
import { neighbours } from "./neighbours.ts";

/** All that this service keeps of what others tell. */
export const projections = [...neighbours, ...facts];

/** Segments follow what a batch tells of contacts, in the same transaction. */
export function segmentKeeping(services: BuildServices): Keeping {
  let catalogue: FieldCatalogue;
  let changes: ContactChange[] = [];
  const contactIds = () => changes.map(({ contactId }) => contactId);
  return {
    around: (work) =>
      withoutCulprits(services, contactIds, async () => {
        catalogue = await services.catalogues.latest();
        await work();
      }),
    async settle(transaction, changed) {
      changes = [...changed].flatMap(([projection, ids]) => {
        const fact = facts.find((candidate) => candidate === projection) as Fact | undefined;
        return fact ? ids.map((contactId) => ({ contactId, changed: [fact.table] })) : [];
      });
      await followChanges(services, transaction, catalogue, changes);
    },
  };
}
