/** How a command reports its failure: a message for the user, or the stack of a mistake of ours. */
import { UsageError } from '../flags/usage-error.ts'
import { ConfigError } from '../server/config.ts'
import { FeatureGateError } from '../server/feature-gates.ts'
import { StoreUnavailable } from '../storage/store.ts'

export type Failure = { readonly text: string; readonly code: number }

export function failureOf(error: unknown): Failure {
  const isExpected = error instanceof ConfigError || error instanceof FeatureGateError || error instanceof StoreUnavailable
  return { text: (isExpected ? error.message : (error as Error).stack) ?? String(error), code: error instanceof UsageError ? 2 : 1 }
}

/** Runs a command; resolves with its exit code, and reports its failure. */
export async function reported(run: () => Promise<number>): Promise<number> {
  try {
    return await run()
  } catch (error) {
    const { text, code } = failureOf(error)
    process.stderr.write(`keelson: ${text}\n`)
    return code
  }
}
