/** Compute resources that pods and containers request. */
import { setOwn } from '../../../../lib/json-value.ts'
import { milliValue, parseQuantity, quantityOf } from '../../../../lib/quantity.ts'
import { keyed, mapOf, message, quantity, type Static, string } from '../../../../schema/types.ts'

/** Rounds amounts up to thousandths, in place: smaller amounts are not supported. */
export function roundAmounts(...lists: (Record<string, string> | null | undefined)[]): void {
  for (const list of lists)
    for (const [name, amount] of Object.entries(list ?? {})) if (mayBeFiner.test(amount)) setOwn(list!, name, roundedUp(amount))
}
/** The canonical form of amounts finer than thousandths contains one of these. */
const mayBeFiner = /[nu.]|e-/

function roundedUp(amount: string): string {
  const parsed = parseQuantity(amount)
  return parsed.scale >= -3 ? amount : quantityOf(milliValue(parsed), -3, parsed.format).text
}

export const ResourceClaim = message('ResourceClaim', {
  name: [1, string.always(), 'The entry of resourceClaims in the pod.'],
  request: [2, string, 'One request of the claim; all when empty.'],
})
export type ResourceClaim = Static<typeof ResourceClaim>

export const ResourceRequirements = message(
  'ResourceRequirements',
  {
    limits: [1, mapOf(quantity), 'The most that may be used.'],
    requests: [2, mapOf(quantity), 'The amounts that are reserved.'],
    claims: [3, keyed(ResourceClaim, 'name'), 'Device claims the container uses.'],
  },
  { defaults: ({ limits, requests }) => roundAmounts(limits, requests) },
)
export type ResourceRequirements = Static<typeof ResourceRequirements>

export const ContainerResizePolicy = message('ContainerResizePolicy', {
  resourceName: [1, string.always(), 'The resource the policy is for: cpu or memory.'],
  restartPolicy: [2, string.always(), 'Whether a change of the resource restarts the container: NotRequired or RestartContainer.'],
})
export type ContainerResizePolicy = Static<typeof ContainerResizePolicy>
