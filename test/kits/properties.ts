/**
 * fast-check, with fewer runs where somebody waits for the result. Tests say how often a property is to be tried when there is time, as with
 * KEELSON_PROPERTY_RUNS=1; `npm run test:all` and CI try half of that, `npm test` a fifth. The test runner puts this in the place of
 * fast-check (scripts/test-bundle.mjs). A failure names its seed and path, by which it is repeated however many runs there are.
 */
import real from 'fast-check'

export * from 'fast-check'

/** The part of the runs that is tried. */
const SHARE = Number(process.env['KEELSON_PROPERTY_RUNS'] ?? 0.2)
const MIN_RUNS = 10
const RUNS_UNLESS_TOLD = 100

/** As fast-check's own. */
export const assert: typeof real.assert = (property: any, parameters: any) => real.assert(property, fewer(parameters)) as any

export default { ...real, assert }

function fewer(parameters: { readonly numRuns?: number } | undefined) {
  const runs = parameters?.numRuns ?? RUNS_UNLESS_TOLD
  return { ...parameters, numRuns: Math.max(Math.ceil(runs * SHARE), Math.min(runs, MIN_RUNS)) }
}
