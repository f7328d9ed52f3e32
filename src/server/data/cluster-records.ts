/** Which records belong to a cluster, and which to the servers and the store that hold it. */
import { SHARED_KEYS_PREFIX } from '../credentials/shared-keys.ts'
import { MIGRATION } from './data-identity.ts'

/** Servers announce themselves here while they run. */
export const SERVER_ADDRESSES = '/masterleases/'

/** The same by their identities, for requests that they pass on to each other. */
export const PEER_ADDRESSES = '/peerserverleases/'

/** Reservations of writes that servers have in flight. */
export const QUOTA_NOTES = '/keelson/quota/'

/** Records that a copy of a cluster leaves out: keys are handled apart, and others say what running servers do. */
export const APART = [MIGRATION, SHARED_KEYS_PREFIX, SERVER_ADDRESSES, PEER_ADDRESSES, QUOTA_NOTES] as const

export const isApart = (key: string): boolean => APART.some(prefix => key.startsWith(prefix))
