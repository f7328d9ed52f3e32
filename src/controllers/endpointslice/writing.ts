/** Watches and writes EndpointSlices for the controllers that own them. */

import { queueKey } from '../../client/change.ts'
import type { ResourceClient } from '../../client/client.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { type Watch, watch } from '../controller.ts'
import { draftOf, MANAGED_BY, SERVICE_NAME, type Slice, type SliceContent, type SlicePlan } from './slices.ts'

/** Turns changes of a manager's slices into the keys of their services: what others change is put right. */
export const watchSlices = (manager: string): Watch =>
  watch(EndpointSlice, ({ current, previous }) =>
    [current, previous].flatMap(revision => {
      const name = revision?.labels[SERVICE_NAME]
      const isManaged = [current, previous].some(each => each?.labels[MANAGED_BY] === manager)
      return name && isManaged ? [queueKey({ namespace: current.namespace, name })] : []
    }),
  )

export async function writeSlices(
  slices: ResourceClient<Slice>,
  { create, update, remove }: SlicePlan,
  { mayCreate, change = slice => slice }: { readonly mayCreate: boolean; readonly change?: (slice: SliceContent) => SliceContent },
): Promise<void> {
  if (mayCreate) for (const slice of create) await slices.create(draftOf(change(slice)))
  for (const slice of update) await slices.update(change(slice) as Slice)
  for (const slice of remove) await slices.delete(slice)
}
