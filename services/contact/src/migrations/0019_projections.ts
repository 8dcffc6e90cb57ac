import { statements } from "@tidings/database/statements";
import { PROJECTION_TABLES } from "@tidings/projection/tables";

/** Projections can be made from nothing; versions are known by the table they are of. */
export const rebuildProjections = statements(
  ...PROJECTION_TABLES,
  `update projected_versions set kind = case kind when 'owner' then 'owners' when 'stage' then 'stages'
     when 'category' then 'categories' when 'email' then 'email_segments' else kind end`,
);
