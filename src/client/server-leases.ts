/** The leases by which the API servers over one store know each other; each has the name of its server. */
import type { LabelTerms } from '../schema/selectors.ts'

export const SERVER_LEASES = 'kube-system'

/** The label of such a lease. */
export const SERVER_LABELS = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' } as const
const [[LABEL, COMPONENT]] = Object.entries(SERVER_LABELS) as [[string, string]]

/** Selects them all. */
export const ALL_SERVERS: { readonly namespace: string; readonly labels: LabelTerms } = {
  namespace: SERVER_LEASES,
  labels: [{ key: LABEL, operator: '=', values: [COMPONENT] }],
}

type Labelled = { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }

export const isServerLease = ({ namespace, labels }: Labelled): boolean => namespace === SERVER_LEASES && labels[LABEL] === COMPONENT
