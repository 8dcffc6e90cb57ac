import { TAGS } from "../images.ts";
import { rollback, upgrade } from "../release.ts";
import type { Step } from "../step.ts";
import { underLoad } from "../under-load.ts";

/** Every process is replaced, by another version and by the one before. */
export const releases: Step[] = [
  {
    name: "upgrade",
    run: async (world) => [
      await underLoad(world, {
        what: "helm upgrade to another image",
        act: () => upgrade({ ...world.installation, tag: TAGS.other }),
      }),
      await underLoad(world, { what: "helm rollback", act: rollback }),
    ],
  },
];
