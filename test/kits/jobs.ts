/** Jobs and pods over a registry in memory, for tests of the parts of the job controller. */
import { TRACKING_FINALIZER } from '../../src/controllers/job/job-pod.ts'
import { Job } from '../../src/kinds/batch/job.ts'
import { Pod } from '../../src/kinds/core/pod/pod.ts'
import { listRecorder, openControllerBench, type Scope } from './controllers.ts'

const PODS = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }

export async function openJobParts(t: Scope) {
  let now = Date.parse('2030-01-01T00:00:00Z')
  const { client } = await openControllerBench(t, [Job, Pod], { now: () => new Date(now) })
  const [jobs, pods] = [client.of(Job), client.of(Pod)]
  const recorder = listRecorder()
  const named = (name: string) => ({ namespace: 'default', name })
  const job = (name: string) => jobs.get(named(name))!
  return {
    ...{ client, jobs, pods, recorder, job },
    pass: (ms: number) => (now += ms),
    pod: (name: string) => pods.get(named(name)),
    podsOf: (name: string) => [...pods.list()].filter(({ metadata }) => metadata.ownerReferences?.[0]?.name === name),
    isTracked: (name: string) => pods.get(named(name))!.metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false,
    addJob: async (name: string, spec: object = {}) => {
      await jobs.create({ metadata: named(name), spec: { template: PODS, ...spec } })
      return job(name)
    },
    /** A tracked pod, with the owner and labels that are given. */
    addPod: (name: string, metadata: object = {}) =>
      pods.create({ metadata: { ...named(name), finalizers: [TRACKING_FINALIZER], ...metadata }, ...PODS }),
    end: (pod: Pod, phase: string) => pods.patch(pod.metadata, { status: { phase } }, { subresource: 'status' }),
    finish: (name: string) => {
      const at = new Date(now).toISOString().replace('.000', '')
      const condition = (type: string) => ({ type, status: 'True', lastProbeTime: at, lastTransitionTime: at, reason: 'r', message: 'm' })
      const conditions = [condition('SuccessCriteriaMet'), condition('Complete')]
      const status = { ...job(name).status, startTime: at, completionTime: at, conditions }
      return jobs.updateStatus({ ...job(name), status } as Job)
    },
  }
}

export const ownedBy = ({ metadata: { name, uid } }: Job, owner: object = {}) => ({
  ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: name!, uid: uid!, controller: true, ...owner }],
})
