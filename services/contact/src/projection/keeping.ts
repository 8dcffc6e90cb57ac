import type { Keeping } from "@tidings/projection/projecting";
import type { Projection } from "@tidings/projection/projection";
import type { ContactContext } from "../contact/save.ts";
import type { FieldCatalogue } from "../field/catalogue.ts";
import type { BuildServices } from "../segment/build/build.ts";
import { withoutCulprits } from "../segment/build/culprits.ts";
import { type ContactChange, followChanges } from "../segment/follow/follow.ts";
import { entities } from "./entities.ts";
import { type AboutContacts, facts } from "./facts.ts";
import { relations } from "./relations.ts";
import { visits } from "./visits.ts";

/** All replicas of this service. Visitors come first: the facts of a batch may be about contacts that begin with it. */
export function contactProjections(context: BuildServices & ContactContext): {
  projections: Projection[];
  keeping(): Keeping;
} {
  const aboutContacts = [visits(context), ...facts, ...relations];
  return {
    projections: [...entities, ...aboutContacts],
    keeping: () => segmentKeeping(context, aboutContacts),
  };
}

/** Segments follow the facts and relations of a batch in the same transaction. */
function segmentKeeping(services: BuildServices, aboutContacts: AboutContacts[]): Keeping {
  let catalogue: FieldCatalogue;
  let changes: ContactChange[] = [];
  const contactIds = () => changes.map(({ contactId }) => contactId);
  return {
    around: (work) =>
      withoutCulprits(services, contactIds, async () => {
        catalogue = await services.catalogues.latest();
        await work();
      }),
    async finish(transaction, changed) {
      changes = [...changed].flatMap(([projection, ids]) => {
        const about: AboutContacts | undefined = aboutContacts.find((candidate) => candidate === projection);
        return about ? ids.map((contactId) => ({ contactId, changed: [about.table] })) : [];
      });
      await followChanges(services, transaction, catalogue, changes);
    },
  };
}
