/** The thread of an embedded database on a disk that forgets. The disk comes first, to be watched from the start. */
import './power-cut-recorder.mjs';
import '../../dist/esm/queue/embedded/database-thread.worker.js';
