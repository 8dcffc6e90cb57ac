import { composeVariables } from "./compose-variables.ts";

for (const [name, value] of Object.entries(composeVariables())) console.log(`${name}=${value}`);
