/** Rules for addresses and blocks in fields that were once read without care for leading zeros, mapped addresses and superfluous bits. */
import { isValidCIDRForLegacyField, isValidIPForLegacyField } from '../../lib/ip.ts'
import type { RequestContext } from '../../schema/request-context.ts'

/** Error messages about a value; what the stored object had is valid. */
type AddressRule = (value: string, stored?: ReadonlySet<string>) => string[]
export type AddressRules = { readonly ip: AddressRule; readonly cidr: AddressRule }

/** The rules according to the gate that has ambiguous forms refused. */
export const addressRules = (gate: RequestContext['gate']): AddressRules => (gate('StrictIPCIDRValidation') ? STRICT : LENIENT)

const rulesWith = (isStrict: boolean): AddressRules => ({
  ip: (value, stored) => isValidIPForLegacyField(value, { stored, isStrict }),
  cidr: (value, stored) => isValidCIDRForLegacyField(value, { stored, isStrict }),
})
const STRICT = rulesWith(true)
const LENIENT = rulesWith(false)
