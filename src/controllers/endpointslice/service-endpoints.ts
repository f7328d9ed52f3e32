/** Finds the ready endpoints of a Service in its EndpointSlices. */

import type { Named } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { SERVICE_NAME } from './slices.ts'

export type Slice = EndpointSlice
type TargetRef = NonNullable<NonNullable<Slice['endpoints']>[number]['targetRef']>

export type ServiceEndpoint = { readonly host: string; readonly port: number; readonly targetRef: TargetRef | undefined }

/** The slices of a Service. */
export const slicesOf = (client: Client, { namespace = '', name = '' }: Named): Slice[] => [
  ...client.of(EndpointSlice).list({ namespace, labels: [{ key: SERVICE_NAME, operator: '=', values: [name] }] }),
]

/** The endpoints in the slices that serve a port, by the name of the port. */
export const readyEndpoints = (slices: readonly Slice[], portName: string): ServiceEndpoint[] =>
  slices.flatMap(({ ports, endpoints }) => {
    const port = ports?.find(each => (each.name ?? '') === portName)?.port
    if (port === undefined) return []
    return (endpoints ?? []).flatMap(({ conditions, addresses, targetRef }) => {
      const host = addresses?.[0]
      return host === undefined || conditions?.ready === false ? [] : [{ host, port, targetRef }]
    })
  })
