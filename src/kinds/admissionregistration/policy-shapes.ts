/** Common types of validating and mutating policies. */
import { message, type Static, string } from '../../schema/types.ts'

export const ParamKind = message('ParamKind', {
  apiVersion: [1, string, 'API group and version of the parameters, as GROUP/VERSION.'],
  kind: [2, string, 'Kind of the parameters.'],
}).atomic()
export type ParamKind = Static<typeof ParamKind>

export const Variable = message('Variable', {
  name: [1, string.always(), 'The name under which expressions find it among `variables`.'],
  expression: [2, string.always(), 'A CEL expression for its value, worked out when first used.'],
}).atomic()
export type Variable = Static<typeof Variable>

/** The kind of a policy's parameters in tables. */
export const formatParamKind = (kind: ParamKind | undefined): string => (kind ? `${kind.apiVersion ?? ''}/${kind.kind ?? ''}` : '<unset>')
