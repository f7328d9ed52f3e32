/** The selection of a list, watch or deletecollection: as a query for the server, as a predicate for the checker. */
import type { Labels } from './history.ts'

export const RESOURCES = {
  configmaps: { group: '/api/v1', kind: 'ConfigMap', apiVersion: 'v1', namespaced: true },
  deviceclasses: { group: '/apis/resource.k8s.io/v1', kind: 'DeviceClass', apiVersion: 'resource.k8s.io/v1', namespaced: false },
  // A custom kind, whose definition changes while it is used; `definition.ts` creates it.
  widgets: { group: '/apis/robustness.example.com/v1', kind: 'Widget', apiVersion: 'robustness.example.com/v1', namespaced: true },
} as const
export type Plural = keyof typeof RESOURCES

export type Requirement = {
  readonly label: string
  readonly operator: 'in' | 'notin' | 'exists' | 'absent'
  readonly values?: readonly string[]
  /** Requested by a field that always equals the label: with one value, which an object has or has not. */
  readonly as?: 'field'
}
export type Selection = {
  readonly resource: Plural
  /** The API version to use, where there are several. */
  readonly version?: string
  readonly namespace?: string
  readonly name?: string
  readonly labels?: Requirement
}

/** Whether an object with this key and these labels is selected. */
export function matches({ resource, namespace, name, labels }: Selection, key: string, has: Labels): boolean {
  const [plural, itsNamespace, itsName] = key.split('/')
  if (plural !== resource || (namespace !== undefined && namespace !== itsNamespace) || (name !== undefined && name !== itsName))
    return false
  if (labels === undefined) return true
  const value = Object.hasOwn(has, labels.label) ? has[labels.label] : undefined
  switch (labels.operator) {
    case 'in':
      return value !== undefined && labels.values!.includes(value)
    case 'notin':
      return value === undefined || !labels.values!.includes(value)
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
  }
}

/** The path of the collection and the query. */
export function collectionPath({ resource, namespace, version }: Selection): string {
  const { group: served } = RESOURCES[resource]
  const group = version === undefined ? served : served.replace(/[^/]*$/, version)
  return namespace === undefined ? `${group}/${resource}` : `${group}/namespaces/${namespace}/${resource}`
}

export function selectorQuery({ name, labels }: Selection): Record<string, string> {
  const fields = [
    ...(name === undefined ? [] : [`metadata.name=${name}`]),
    ...(labels?.as === 'field' ? [`spec.${labelSelector(labels)}`] : []),
  ]
  return {
    ...(fields.length > 0 && { fieldSelector: fields.join() }),
    ...(labels !== undefined && labels.as === undefined && { labelSelector: labelSelector(labels) }),
  }
}

function labelSelector({ label, operator, values = [] }: Requirement): string {
  if (operator === 'exists') return label
  if (operator === 'absent') return `!${label}`
  if (values.length > 1) return `${label} ${operator} (${values.join()})`
  return `${label}${operator === 'in' ? '=' : '!='}${values[0]}`
}

export const showSelection = (selection: Selection): string =>
  [collectionPath(selection), ...Object.values(selectorQuery(selection))].join(' ')
