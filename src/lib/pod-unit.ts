/** The pod that a client certificate was issued to, as an organizational unit of its subject: `system:pod:NAME:UID`. */

const PREFIX = 'system:pod:'

export type NamedPod = { readonly name: string; readonly uid: string }

export const podUnit = ({ name, uid }: NamedPod): string => `${PREFIX}${name}:${uid}`

/** The pod among the units of a subject. A unit that cannot be parsed names a pod that does not exist. */
export function podOfUnits(units: readonly string[]): NamedPod | undefined {
  const unit = units.find(each => each.startsWith(PREFIX))
  if (unit === undefined) return undefined
  const [name = '', uid = ''] = unit.slice(PREFIX.length).split(':')
  return { name, uid }
}
