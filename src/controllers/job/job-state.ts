/** Reads the state of a job from its conditions and its spec. */
import type { Job } from '../../kinds/batch/job.ts'
import type { JobSpec, JobStatus } from '../../kinds/batch/job-shapes.ts'

export type JobCondition = NonNullable<JobStatus['conditions']>[number]

export const isFinished = ({ status }: Pick<Job, 'status'>): boolean => finishedCondition(status) !== undefined

/** The condition that says that a job is over. */
export const finishedCondition = (status: JobStatus): JobCondition | undefined =>
  status.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True')

/** Whether a job is managed by this controller. */
export const isManagedHere = ({ managedBy }: JobSpec): boolean => managedBy === undefined || managedBy === 'kubernetes.io/job-controller'
