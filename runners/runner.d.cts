// The types of the entries for test runners.
import type { FixtureOptions, KeelsonFixture } from '../dist/keelson.cjs'

/** A server for the tests of a file, or of a worker, and a namespace for each test. Call it where tests are declared. */
export function useKeelson(options?: FixtureOptions): KeelsonFixture
