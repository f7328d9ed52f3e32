/** All kinds with all their versions, whether or not a server serves them: for programs that read records. */
import { eachVersion, type Kind } from '../schema/kind.ts'
import { builtinKinds } from './all.ts'
import { kindsOnRequest } from './on-request.ts'

export const everyKind: readonly Kind<any>[] = [...builtinKinds, ...kindsOnRequest].flatMap(kind => [...eachVersion(kind)])
