'use strict';

/**
 * The folder of this package, for files that are read at run time. In a bundle, this is another folder without these
 * files.
 */
exports.PACKAGE_ROOT = typeof __dirname === 'string' ? __dirname : '.';
