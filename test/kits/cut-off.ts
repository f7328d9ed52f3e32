/** Controllers whose server is killed after a number of writes, and that continue in the next one: nothing may happen twice. */
import type { Authorizer } from '../../src/authz/authorizer.ts'
import { type Controller, startController } from '../../src/controllers/controller.ts'
import { type ClientBench, DEFAULT_GATES } from './controllers.ts'

export type CutOff = {
  /** For the bench. Events do not count: nothing depends on them. */
  readonly authorizer: Authorizer
  /** Runs a controller until it has written that many times: from then on, every write fails. */
  run(bench: ClientBench, controller: Controller, writes: number): Promise<void>
}

export function cutOffController(identity: string): CutOff {
  let left = Number.POSITIVE_INFINITY
  return {
    authorizer: {
      authorize(user, { resource }) {
        const isCounted = user.name === `system:serviceaccount:kube-system:${identity}` && resource?.plural !== 'events'
        if (isCounted && left-- <= 0) throw new Error('cut off')
        return { verdict: 'allow', reason: '' }
      },
    },
    async run({ clientFor }, controller, writes) {
      left = writes
      const ending = new AbortController()
      let onError = () => {}
      const failed = new Promise<void>(resolve => (onError = resolve))
      const running = startController(controller, { clientFor, groupDomain: 'k8s.io', gate: DEFAULT_GATES, onError, signal: ending.signal })
      await Promise.race([failed, running.idle()])
      left = 0
      ending.abort()
      // Work in flight continues without effect.
      await running.idle()
      left = Number.POSITIVE_INFINITY
    },
  }
}
