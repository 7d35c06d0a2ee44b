/** The files of the console's page, which the build has put into a module so that bundles have them. */
export declare const SCRIPT: string;
export declare const STYLES: string;
