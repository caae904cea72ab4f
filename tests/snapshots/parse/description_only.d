/* test: -n */
kinst::cam_strvis_flag:entry
