/** How many values a body and a stored object of a kind may hold. */
import type { ValueLimit } from '../codec/decoded-size.ts'
import { LIMITS } from '../lib/limits.ts'

/** A kind that was looked up for a request; options have none. */
export type Limited = { readonly def?: { readonly custom?: unknown; readonly mayBeLarge?: true | undefined } | undefined }

export const valueLimitsOf = ({ def }: Limited): { readonly decoded: ValueLimit; readonly stored: ValueLimit } =>
  def?.custom !== undefined || def?.mayBeLarge ? LIMITS.values.large : LIMITS.values.other
