/** Deletes jobs some time after they are over, when they say after how long. */
import { namedBy } from '../../client/change.ts'
import { Job } from '../../kinds/batch/job.ts'
import { defineController, watch } from '../controller.ts'
import { remainingLife } from './reconcile.ts'

export const ttlAfterFinishedController = defineController({
  name: 'ttl-after-finished-controller',
  identity: 'ttl-after-finished-controller',
  workers: 5,
  create({ client }) {
    const jobs = client.of(Job)
    return {
      watches: [watch(Job)],
      async reconcile(key) {
        const job = jobs.get(namedBy(key))
        const ms = job && remainingLife(job, client.now.getTime())
        if (ms !== 0) return ms
        await jobs.delete(job!, { propagationPolicy: 'Foreground' })
        return undefined
      },
    }
  },
})
